// SPDX-License-Identifier: Apache-2.0

package sample

import "testing"

func TestStatesHaveTheKernelsLetters(t *testing.T) {
	for letter, want := range map[byte]string{'R': "running", 'D': "disk", 'T': "stopped", 't': "stopped",
		'S': "sleeping",
		'I': "sleeping", 'P': "sleeping"} {
		s := StateOf(letter)
		back := map[string]string{"running": "R", "disk": "D", "stopped": "T", "sleeping": "S"}[want]
		if s.String() != want || s.Letter() != back {
			t.Errorf("%c: %s, %s; want %s, %s", letter, s, s.Letter(), want, back)
		}
	}
}

func TestStopsAreSuppressedInACallOrForAnotherReason(t *testing.T) {
	for want, n := range map[bool]NotStopped{false: {Refused: true}, true: {InCall: Reading{Wall: 1}}} {
		if got := n.Suppressed(); got != want {
			t.Errorf("%+v: %t", n, got)
		}
	}
	if !(&NotStopped{Other: Reading{Wall: 1}}).Suppressed() {
		t.Error("for another reason: not suppressed")
	}
}
