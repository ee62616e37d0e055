// SPDX-License-Identifier: Apache-2.0

package incomplete

import (
	"reflect"
	"testing"
)

type raised struct {
	name        string
	self, total int64
}

func TestLargeRowsOfIncompleteStacksAreRaised(t *testing.T) {
	bad := func(reason string, total int64) raised { return raised{Name(reason), 0, total} }
	for _, c := range []struct {
		what string
		rows []raised
		want []string
	}{
		{"to the place of its total", []raised{{"a", 60, 60}, {"b", 30, 30}, {"c", 10, 10}, bad("loop", 40)},
			[]string{"a", Name("loop"), "b", "c"}},
		{"behind rows that are as large", []raised{{"a", 60, 60}, {"b", 40, 40}, bad("loop", 40)},
			[]string{"a", "b", Name("loop")}},
		{"small ones stay", []raised{{"a", 90, 90}, {"b", 10, 10}, bad("loop", 2)}, []string{"a", "b", Name("loop")}},
		{"among the first five", []raised{{"a", 18, 18}, {"b", 17, 17}, {"c", 17, 17}, {"d", 16, 16}, {"e", 16, 16},
			{"f", 16, 16}, bad("loop", 3)}, []string{"a", "b", "c", "d", Name("loop"), "e", "f"}},
		{"in their order", []raised{{"a", 60, 60}, {"b", 40, 40}, bad("loop", 50), bad("depth", 45)},
			[]string{"a", Name("loop"), Name("depth"), "b"}},
		{"not above the first", []raised{{"a", 50, 50}, {"b", 50, 50}, bad("loop", 30), bad("depth", 80)},
			[]string{"a", "b", Name("loop"), Name("depth")}},
		{"others stay", []raised{{"a", 60, 60}, {"b", 40, 40}, {"main", 0, 100}}, []string{"a", "b", "main"}},
	} {
		Raise(c.rows, func(r *raised) (string, int64, int64) { return r.name, r.self, r.total })
		var got []string
		for _, r := range c.rows {
			got = append(got, r.name)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
