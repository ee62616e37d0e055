// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestIntervalsOfAClockWithoutTimeAreLeftOut(t *testing.T) {
	p := ticked(t, 10, map[uint64]int64{0x20: 100})
	o := Options{Value: "runqueue", Intervals: true}
	var table bytes.Buffer
	if err := Table(&table, p, o); err != nil {
		t.Errorf("table: %v", err)
	}
	var raw bytes.Buffer
	if err := JSON(&raw, p, false, o); err != nil {
		t.Fatal(err)
	}
	var got struct{ Functions []jsonFunction }
	if err := json.Unmarshal(raw.Bytes(), &got); err != nil || len(got.Functions) != 2 {
		t.Fatalf("%v: %s", err, &raw)
	}
	for _, f := range got.Functions {
		if f.Within != nil {
			t.Errorf("%s: a margin %+v of no time", f.Name, f.Within)
		}
	}
}
