package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// User is somebody on the server, with a token.
type User struct{ ID, Username, Email, Token string }

// NewUser adds a user and makes a token for it. No client has a method for that, so the request is made by hand.
func (w *Walk) NewUser(address, adminToken, username string) (*User, error) {
	user := &User{Username: username, Email: username + "@example.com"}
	var made struct {
		Data struct{ ID string }
	}
	if err := w.post(address+"/api/v2/admin/users", adminToken, "users", map[string]any{"username": user.Username, "email": user.Email}, &made); err != nil {
		return nil, err
	}
	user.ID = made.Data.ID
	var token struct {
		Data struct{ Attributes struct{ Token string } }
	}
	if err := w.post(address+"/api/v2/users/"+user.ID+"/authentication-tokens", adminToken, "authentication-tokens", map[string]any{}, &token); err != nil {
		return nil, err
	}
	user.Token = token.Data.Attributes.Token
	return user, nil
}

func (w *Walk) post(url, token, kind string, attributes map[string]any, into any) error {
	body, err := json.Marshal(map[string]any{"data": map[string]any{"type": kind, "attributes": attributes}})
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/vnd.api+json")
	answer, err := w.recorder.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("POST %s answered %s", url, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
