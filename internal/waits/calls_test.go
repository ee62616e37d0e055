// SPDX-License-Identifier: Apache-2.0

package waits

import "testing"

func TestCallsWithoutDescriptorsAreSleeps(t *testing.T) {
	const fds = 0x7f0000001000
	for _, c := range []struct {
		call string
		args [6]uint64
		want Kind
	}{
		{"poll", [6]uint64{0, 0, 100}, Sleep},
		{"poll", [6]uint64{fds, 1, 100}, Descriptor},
		{"ppoll", [6]uint64{0, 0, fds}, Sleep},
		{"select", [6]uint64{0, 0, 0, 0, fds}, Sleep},
		{"select", [6]uint64{4, fds, 0, 0, fds}, Descriptor},
	} {
		s := &Sleeper{State: 'S', Wait: c.call, Args: c.args, InCall: true}
		if w := Describe(s); w.Kind != c.want || !w.Timed {
			t.Errorf("%s%v: %+v, want a wait with a timeout of kind %q", c.call, c.args[:3], w, c.want)
		}
	}
}
