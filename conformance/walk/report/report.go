// Package report runs the checks of a walk and prints one JSON line for each of them.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Walk is one run of one client over everything the server serves.
type Walk struct {
	client   string
	recorder *Recorder
	served   map[string]bool
	lines    *json.Encoder
	failed   bool
}

type line struct {
	Client    string `json:"client"`
	Family    string `json:"family"`
	Operation string `json:"operation"`
	Check     string `json:"check"`
	ByAddress bool   `json:"byAddress"`
	OK        bool   `json:"ok"`
	Detail    string `json:"detail"`
}

// New starts a walk of the named client, whose requests have to go through the recorder.
func New(client string, recorder *Recorder) *Walk {
	walk := &Walk{client: client, recorder: recorder, served: map[string]bool{}, lines: json.NewEncoder(os.Stdout)}
	walk.lines.SetEscapeHTML(false)
	return walk
}

// LearnOperations reads which operations the server says it serves.
func (w *Walk) LearnOperations(address string) error {
	answer, err := (&http.Client{Transport: w.recorder}).Get(address + "/openapi.json")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&document); err != nil {
		return err
	}
	for path, methods := range document.Paths {
		for method := range methods {
			w.served[shape(strings.ToUpper(method)+" "+path)] = true
		}
	}
	return nil
}

// Served tells whether the server says it serves an operation.
func (w *Walk) Served(operation string) bool { return w.served[shape(operation)] }

// shape forgets the names of the parameters in a path.
func shape(operation string) string {
	method, path, _ := strings.Cut(operation, " ")
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "{}"
		}
	}
	return method + " " + strings.Join(segments, "/")
}

// Check runs one check of one operation, such as "GET /api/v2/teams/{id}", and prints its line. The client has to have sent
// that operation in it. A panic counts as a fault, and the walk goes on.
func (w *Walk) Check(family, operation, what string, run func(c *Check)) {
	w.check(family, operation, what, false, run)
}

// CheckByAddress is a check of a request that we address ourselves, where the client has no method for it.
func (w *Walk) CheckByAddress(family, operation, what string, run func(c *Check)) {
	w.check(family, operation, what, true, run)
}

func (w *Walk) check(family, operation, what string, byAddress bool, run func(c *Check)) {
	w.recorder.Forget()
	c := &Check{}
	c.run(run)
	if len(c.faults) == 0 && !w.recorder.Saw(operation) {
		c.Faultf("the client sent no such request")
	}
	detail := strings.Join(c.faults, "; ")
	if len(c.faults) > 0 {
		w.failed = true
		if last := w.recorder.Last(operation); last != "" {
			detail += " | " + last
		}
	}
	w.lines.Encode(line{w.client, family, operation, what, byAddress, len(c.faults) == 0, detail})
}

// Failed tells whether any check failed.
func (w *Walk) Failed() bool { return w.failed }

// Check collects the faults of one check.
type Check struct{ faults []string }

type stop struct{}

func (c *Check) run(run func(c *Check)) {
	defer func() {
		switch cause := recover().(type) {
		case nil, stop:
		default:
			c.Faultf("panic: %v", cause)
		}
	}()
	run(c)
}

// Faultf notes a fault and goes on.
func (c *Check) Faultf(format string, values ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, values...))
}

// Stopf notes a fault and ends the check.
func (c *Check) Stopf(format string, values ...any) {
	c.Faultf(format, values...)
	panic(stop{})
}

// OK ends the check if there is an error.
func (c *Check) OK(err error) {
	if err != nil {
		c.Stopf("%s", Text(err))
	}
}

// Text gives an error with the details that it, or an error within it, carries besides its message.
func Text(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		value := reflect.Indirect(reflect.ValueOf(inner))
		if value.Kind() != reflect.Struct {
			continue
		}
		if details := value.FieldByName("Details"); details.IsValid() && details.Kind() == reflect.Slice && details.Len() > 0 {
			return fmt.Sprintf("%v %v", err, details.Interface())
		}
	}
	return err.Error()
}

// Needs ends the check if something that an earlier one should have made is not there.
func Needs[T any](c *Check, name string, value *T) *T {
	if value == nil {
		c.Stopf("there is no %s: an earlier check failed", name)
	}
	return value
}

// Is wants an error that matches the target.
func (c *Check) Is(err, target error) {
	if !errors.Is(err, target) {
		c.Faultf("error is %q, not %q", fmt.Sprint(err), target)
	}
}

// Says wants an error whose text has every part in it.
func (c *Check) Says(err error, parts ...string) {
	if err == nil {
		c.Stopf("no error, where one was due that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(Text(err), part) {
			c.Faultf("error %q does not say %q", Text(err), part)
		}
	}
}

// That wants something to hold.
func (c *Check) That(what string, holds bool) {
	if !holds {
		c.Faultf("not so: %s", what)
	}
}

// Equal wants two values to be deeply equal.
func Equal[T any](c *Check, what string, got, want T) {
	if !reflect.DeepEqual(got, want) {
		c.Faultf("%s is %s, not %s", what, show(got), show(want))
	}
}

// Same wants two lists to hold the same, in any order.
func Same(c *Check, what string, got, want []string) {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		c.Faultf("%s is %q, not %q", what, got, want)
	}
}

func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value)
	}
	return string(text)
}

// Map gives what a function makes of each item of a list.
func Map[T, R any](items []T, of func(T) R) []R {
	results := make([]R, 0, len(items))
	for _, item := range items {
		results = append(results, of(item))
	}
	return results
}
