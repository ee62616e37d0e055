// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"testing"
	"time"
)

func TestWhatOthersTakeIsNotWhatTheTargetTakes(t *testing.T) {
	if busySeconds() <= 0 {
		t.Fatal("this machine has done nothing yet")
	}
	o := othersCPU{pid: os.Getpid()}
	if o.share() != nil {
		t.Error("known before anything was measured")
	}
	o.begin()
	began := time.Now()
	for busySeconds() <= o.busy0 { // by any process
	}
	o.end(time.Since(began).Seconds())
	if x := o.share(); x == nil || *x < 0 || o.spent <= 0 || o.busy <= 0 {
		t.Errorf("%+v, share %v", o, x)
	}
	none := othersCPU{}
	none.begin()
	none.end(1)
	if none.share() != nil {
		t.Error("share without a target")
	}
}
