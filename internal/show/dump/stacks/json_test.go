// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONInPartsIsTheSame(t *testing.T) {
	for _, p := range []*Process{
		{PID: 1, Threads: []Thread{}},
		{PID: 7, Threads: []Thread{{TID: 7, Name: `"frames":null`, Frames: []Frame{{PC: 1, Place: &Place{Function: "a"}},
			{Place: &Place{Function: `"threads":null`}}}},
			{TID: 8, Frames: []Frame{}}},
			Tasks: []Task{{Name: "t", Frames: []Frame{}}}},
	} {
		want, err := json.Marshal(p)
		var b strings.Builder
		if err = cmp.Or(err, WriteJSON(&b, p)); err != nil || b.String() != string(want)+"\n" {
			t.Errorf("%v\n%s\n%s", err, b.String(), want)
		}
	}
}
