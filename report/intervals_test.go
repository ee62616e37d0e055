// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/budget"
)

// A clock without time has sample counts, but no share that an interval could bound.
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

// The page is not written, and the refusal is returned, wherever the budget ends.
func TestAPageWithoutMemoryIsRefused(t *testing.T) {
	t.Cleanup(func() { budget.Process().SetTotal(budget.DefaultTotal) })
	p := shape{lines: 20, depth: 3, samples: 3, distinct: true}.of()
	l := *p.Location[0]
	for i := range 100 { // each location is a further step at which memory may be refused
		more := l
		more.ID = uint64(i + 2)
		p.Location = append(p.Location, &more)
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}, Location: []*profile.Location{&more}})
	}
	refused := 0
	for total := int64(64 << 10); total < 4<<20; total += 16 << 10 {
		budget.Process().SetTotal(total)
		if err := HTML(io.Discard, p, Options{}); err != nil {
			refused++
			if !strings.Contains(err.Error(), "--max-memory") {
				t.Fatalf("%d bytes: %v", total, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no budget was too small")
	}
}
