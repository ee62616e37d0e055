// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"testing"
)

func TestAProfileWithoutValuesLeavesNothingInTheDictionary(t *testing.T) {
	d := NewDictionary(nil)
	empty := d.Message()
	var l Samples[int64]
	l.Add(1, 0, nil, 0)
	of := func(p int64) (value int64, time uint64, isTimed bool) { return p, 0, false }
	if p := l.Profile(d, "runqueue", "nanoseconds", 0, 1, of); p != nil || !bytes.Equal(d.Message(), empty) {
		t.Errorf("%x, dictionary %x, want none, %x", p, d.Message(), empty)
	}
	l.Add(1, 0, nil, 7)
	p := l.Profile(d, "runqueue", "nanoseconds", 0, 1, of)
	if p == nil || !bytes.Contains(d.Message(), []byte("runqueue")) {
		t.Errorf("%x, dictionary %x", p, d.Message())
	}
}
