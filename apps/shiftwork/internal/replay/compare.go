package replay

import (
	"fmt"
	"math"
	"reflect"
)

// difference finds the first field in which two decisions differ; field is empty if there is none. Lists without entries
// are equal, and so are two NaN; numbers are equal if all bits are.
func difference(path string, recorded, replayed reflect.Value) (field, was, is string) {
	same := true
	switch recorded.Kind() {
	case reflect.Float64:
		x, y := recorded.Float(), replayed.Float()
		same = math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	case reflect.Slice:
		same = recorded.Len() == replayed.Len()
		for i := 0; same && i < recorded.Len(); i++ {
			if field, was, is = difference(fmt.Sprintf("%s[%d]", path, i), recorded.Index(i), replayed.Index(i)); field != "" {
				return field, was, is
			}
		}
	case reflect.Struct:
		for i := range recorded.NumField() {
			f := recorded.Type().Field(i)
			if !f.IsExported() { // a type that keeps its fields to itself is compared as a whole
				same = reflect.DeepEqual(recorded.Interface(), replayed.Interface())
				break
			}
			name := f.Name
			if path != "" {
				name = path + "." + name
			}
			if field, was, is = difference(name, recorded.Field(i), replayed.Field(i)); field != "" {
				return field, was, is
			}
		}
	default:
		same = reflect.DeepEqual(recorded.Interface(), replayed.Interface())
	}
	if same {
		return "", "", ""
	}
	return path, text(recorded), text(replayed)
}

// text is a value in a line of a report.
func text(v reflect.Value) string {
	const most = 200 // runes
	s := []rune(fmt.Sprintf("%v", v.Interface()))
	if v.Kind() == reflect.String {
		s = []rune(fmt.Sprintf("%q", v.String()))
	}
	if len(s) > most {
		s = append(s[:most], []rune("...")...)
	}
	return string(s)
}
