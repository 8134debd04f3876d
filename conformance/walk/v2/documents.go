package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"bailiwick.test/conformance/walk/report"
	"github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// check is a check that knows the models of this client.
type check struct{ *report.Check }

// object is a part of a document, under the names that it has on the wire.
type object = map[string]any

// resource is a resource as the client decoded it; nil if there is none.
type resource object

// document is an answer as the client decoded it.
type document struct {
	one        resource
	many       []resource
	included   []resource
	meta       object
	pagination object
}

func (r resource) id() string { return fmt.Sprint(r["id"]) }

func (r resource) attributes() object {
	attributes, _ := r["attributes"].(object)
	return attributes
}

func (r resource) attribute(name string) string { return fmt.Sprint(r.attributes()[name]) }

// related gives the id of the resource at the other end of a relationship.
func (r resource) related(name string) string {
	relationships, _ := r["relationships"].(object)
	relationship, _ := relationships[name].(object)
	data, _ := relationship["data"].(object)
	return fmt.Sprint(data["id"])
}

// relatedAll gives the ids of the resources at the other end of a relationship.
func (r resource) relatedAll(name string) []string {
	relationships, _ := r["relationships"].(object)
	relationship, _ := relationships[name].(object)
	return report.Map(resources(relationship["data"]), resource.id)
}

func nameOf(r resource) string { return r.attribute("name") }

// got gives what the client made of an answer, and ends the check if that is an error or nothing.
func (c check) got(value any, err error) document {
	c.OK(err)
	content, isObject := plain(c, decoded(reflect.ValueOf(value), true)).(object)
	if !isObject {
		c.Stopf("the client made nothing of the answer")
	}
	answer := document{many: resources(content["data"]), included: resources(content["included"])}
	if data, isOne := content["data"].(object); isOne {
		answer.one = data
	}
	answer.meta, _ = content["meta"].(object)
	answer.pagination, _ = answer.meta["pagination"].(object)
	if own, isOwn := content["pagination"].(object); isOwn {
		answer.pagination = own
	}
	return answer
}

func resources(data any) []resource {
	items, _ := data.([]any)
	return report.Map(items, func(item any) resource {
		content, _ := item.(object)
		return content
	})
}

// of finds the resource with an id.
func of(all []resource, id string) resource {
	for _, one := range all {
		if one.id() == id {
			return one
		}
	}
	return nil
}

// needs ends the check if something that an earlier one should have made is not there.
func (c check) needs(name string, r resource) resource {
	if r == nil {
		c.Stopf("there is no %s: an earlier check failed", name)
	}
	return r
}

// has wants a resource to have these attributes, whatever else it has.
func (c check) has(r resource, attributes object) {
	c.holds("attributes", r.attributes(), attributes)
}

// holds wants everything in one value to be in another.
func (c check) holds(what string, got, want any) {
	for _, difference := range differences(what, got, plain(c, want)) {
		c.Faultf("%s", difference)
	}
}

// envelope is a document with one resource to be sent.
func envelope(kind string, attributes, relationships object) object {
	data := object{"type": kind, "attributes": attributes}
	if relationships != nil {
		data["relationships"] = relationships
	}
	return object{"data": data}
}

func to(kind, id string) object { return object{"data": object{"type": kind, "id": id}} }

func identifiers(kind string, ids ...string) object {
	return object{"data": report.Map(ids, func(id string) object { return object{"type": kind, "id": id} })}
}

// fill gives a model of the client the values of a document, and wants it to take them all.
func fill[T serialization.Parsable](c check, model T, content object) T {
	text, err := json.Marshal(content)
	c.OK(err)
	node, err := serialization.DefaultParseNodeFactoryInstance.GetRootParseNode("application/json", text)
	c.OK(err)
	_, err = node.GetObjectValue(func(serialization.ParseNode) (serialization.Parsable, error) { return model, nil })
	c.OK(err)
	for _, difference := range differences("what the client can send", plain(c, decoded(reflect.ValueOf(model), false)), plain(c, content)) {
		c.Stopf("%s", difference)
	}
	return model
}

// with gives a request its query parameters.
func with[Q any](query Q) *abstractions.RequestConfiguration[Q] {
	return &abstractions.RequestConfiguration[Q]{QueryParameters: &query}
}

// decoded turns a model into objects and lists, with or without the values that it does not know by name.
func decoded(value reflect.Value, unknown bool) any {
	for value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if value.IsNil() {
			return nil
		}
	}
	switch content := value.Interface().(type) {
	case serialization.Parsable:
		return decodedModel(value, content, unknown)
	case *time.Time:
		return content.Format(time.RFC3339Nano)
	case fmt.Stringer:
		return content.String()
	}
	switch value.Kind() {
	case reflect.Pointer:
		return decoded(value.Elem(), unknown)
	case reflect.Slice:
		items := make([]any, value.Len())
		for i := range items {
			items[i] = decoded(value.Index(i), unknown)
		}
		return items
	case reflect.Map:
		entries := object{}
		for _, key := range value.MapKeys() {
			entries[key.String()] = decoded(value.MapIndex(key), unknown)
		}
		return entries
	}
	return value.Interface()
}

// decodedModel asks a model for each of its fields. A field has its name on the wire and a getter that is named after it.
func decodedModel(value reflect.Value, model serialization.Parsable, unknown bool) any {
	getters := map[string]reflect.Value{}
	for i := range value.NumMethod() {
		if name, isGetter := strings.CutPrefix(value.Type().Method(i).Name, "Get"); isGetter && value.Method(i).Type().NumIn() == 0 {
			getters[strings.ToLower(strings.TrimSuffix(name, "Escaped"))] = value.Method(i)
		}
	}
	// A wrapper around one of several types holds the one that was decoded.
	if _, isWrapper := getters["iscomposedtype"]; isWrapper {
		for name, getter := range getters {
			if content := getter.Call(nil)[0]; name != "iscomposedtype" && content.Kind() == reflect.Interface && !content.IsNil() {
				return decoded(content, unknown)
			}
		}
		return nil
	}
	fields := object{}
	if holder, hasMore := model.(serialization.AdditionalDataHolder); hasMore && unknown {
		for name, content := range holder.GetAdditionalData() {
			fields[name] = decoded(reflect.ValueOf(content), unknown)
		}
	}
	for name := range model.GetFieldDeserializers() {
		getter, found := getters[strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))]
		if !found {
			panic(fmt.Sprintf("%T has no getter for %s", model, name))
		}
		if content := decoded(getter.Call(nil)[0], unknown); content != nil {
			fields[name] = content
		}
	}
	return fields
}

// plain makes a value of what JSON knows alone, so that values from different places compare.
func plain(c check, value any) any {
	text, err := json.Marshal(value)
	c.OK(err)
	var result any
	c.OK(json.Unmarshal(text, &result))
	return result
}

// differences tells where a value does not hold what is wanted of it. A null that is wanted may be missing.
func differences(what string, got, want any) []string {
	switch want := want.(type) {
	case object:
		fields, _ := got.(object)
		var found []string
		for name, value := range want {
			found = append(found, differences(what+"."+name, fields[name], value)...)
		}
		return found
	case []any:
		items, _ := got.([]any)
		if len(items) == len(want) {
			var found []string
			for i := range want {
				found = append(found, differences(fmt.Sprintf("%s[%d]", what, i), items[i], want[i])...)
			}
			return found
		}
	}
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %v, not %v", what, got, want)}
}
