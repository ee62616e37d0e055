// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"testing"
)

func TestWhatOthersTakeIsNotWhatTheTargetTakes(t *testing.T) {
	if busySeconds() <= 0 {
		t.Fatal("this machine has done nothing yet")
	}
	o := othersMeter(os.Getpid())
	if o.share() != nil {
		t.Error("known before anything was measured")
	}
	began := busySeconds()
	o.begin()
	for busySeconds() <= began {
	}
	o.end()
	if x := o.share(); x == nil || *x < 0 || o.spent >= busySeconds()-began {
		t.Errorf("%+v, share %v, of %v s in all", o, x, busySeconds()-began)
	}
	var none cpuMeter
	none.begin()
	none.end()
	if none.share() != nil {
		t.Error("share without a target")
	}
}
