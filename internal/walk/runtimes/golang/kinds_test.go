// SPDX-License-Identifier: Apache-2.0

package golang

import "testing"

// A function of a known name is of that kind if its flags say that it may be, as assembly and outermost functions are;
// what the runtime injects, and what reschedules, is so without flags. Others are wrappers of the name.
func TestAFunctionsKindIsByItsNameAndFlags(t *testing.T) {
	for _, c := range []struct {
		name    string
		flag    uint8
		want    funcKind
		spWrite bool
	}{
		{"main.main", 0, kindPlain, false},
		{"main.main", flagAsm, kindPlain, false},
		{"main.main", flagSPWrite, kindPlain, true},
		{"runtime.goexit", flagTopFrame, kindRoot, false},
		{"runtime.morestack", flagAsm, kindMorestack, false},
		{"runtime.morestack", flagAsm | flagSPWrite, kindMorestack, true},
		{"runtime.morestack", flagTopFrame, kindMorestack, false},
		{"runtime.morestack", 0, kindPlain, false},
		{"runtime.systemstack", 0, kindPlain, false},
		{"runtime.sigpanic", 0, kindInjected, false},
		{"runtime.asyncPreempt", flagAsm, kindInjected, false},
		{"runtime.preemptPark", 0, kindReschedules, false},
		{"runtime.sigtramp", 0, kindPlain, false},
		{"runtime.sigtramp", flagAsm, kindTrampoline, false},
	} {
		tab := &funcs{h: header{names: []byte(c.name + "\x00")}}
		if k, spWrite := tab.kind(&funcInfo{flag: c.flag}); k != c.want || spWrite != c.spWrite {
			t.Errorf("%s with the flags %#x: kind %d, %t; want %d, %t", c.name, c.flag, k, spWrite, c.want, c.spWrite)
		}
	}
}
