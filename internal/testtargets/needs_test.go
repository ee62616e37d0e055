// SPDX-License-Identifier: Apache-2.0

package testtargets

import "testing"

type neverSkips struct{}

func (neverSkips) Helper()     {}
func (neverSkips) Skip(...any) {}

func TestNeedTakesNoErrorAsWhatATestNeeds(t *testing.T) {
	for what, want := range map[string]bool{"FUSE": false, "FUSE: no such device": true, "FUSE,\nno such device": true} {
		for _, have := range []bool{false, true} {
			func() {
				defer func() {
					if got := recover() != nil; got != want {
						t.Errorf("%q, have %v: a panic %v, want %v", what, have, got, want)
					}
				}()
				Need(neverSkips{}, have, what, SetUp)
			}()
		}
	}
}
