// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	"prywalk/internal/store/otlp"
	rec "prywalk/internal/store/profile"
)

func TestSamplesOfDifferentProcessesAreNotJoined(t *testing.T) {
	of := func(pid int64, comm string) *profile.Sample {
		return &profile.Sample{Value: []int64{1}, NumLabel: map[string][]int64{rec.LabelPID: {pid}},
			Label: map[string][]string{rec.LabelComm: {comm}}}
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: rec.TypeCPU, Unit: "nanoseconds"}},
		Sample: []*profile.Sample{of(1, "2x"), of(12, "x"), of(12, "x")}}
	d, err := view.New(p, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Memory.Close()
	e := newOTLPEncoder(d)
	all := e.resources()
	if len(all) != 2 {
		t.Fatalf("%d resources, want 2", len(all))
	}
	for i, want := range []byte{1, 2} {
		if samples := []byte{2<<3 | 2, 3, 4<<3 | 2, 1, want}; !bytes.Contains(e.resource(all[i]), samples) {
			t.Errorf("process %d: not one sample with the value %d", all[i].pid, want)
		}
	}
}

// The label is a number, or a text where the lock was free.
func TestOwnersOfLocksAreAttributes(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: rec.TypeWall, Unit: "nanoseconds"}},
		Sample: []*profile.Sample{
			{Value: []int64{1}, NumLabel: map[string][]int64{rec.LabelOwner: {4711}}},
			{Value: []int64{1}, Label: map[string][]string{rec.LabelOwner: {rec.OwnerNoneText}}},
			{Value: []int64{1}},
		}}
	d, err := view.New(p, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Memory.Close()
	e := newOTLPEncoder(d)
	for i, want := range []*otlp.ThreadAttributes{{Owner: "4711"}, {Owner: rec.OwnerNoneText}, {}} {
		if got := e.attributes(p.Sample[i]); !slices.Equal(got, e.tables.ThreadAttributes(want)) {
			t.Errorf("sample %d has not the attributes %+v", i, *want)
		}
	}
}

func TestRequestsAreLinksToSpans(t *testing.T) {
	of := func(trace, span string) *profile.Sample {
		return &profile.Sample{Value: []int64{1}, Label: map[string][]string{rec.LabelTrace: {trace}, rec.LabelSpan: {span}}}
	}
	trace, span := strings.Repeat("0a", 16), strings.Repeat("0b", 8)
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: rec.TypeCPU, Unit: "nanoseconds"}},
		Sample: []*profile.Sample{of(trace, span), of(trace, span), of(trace, "0b"), of("x", span)}}
	d, err := view.New(p, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Memory.Close()
	e := newOTLPEncoder(d)
	samples := []byte{2<<3 | 2, 5, 3 << 3, 1, 4<<3 | 2, 1, 2, 2<<3 | 2, 3, 4<<3 | 2, 1, 2}
	if got := e.resource(e.resources()[0]); !bytes.Contains(got, samples) {
		t.Fatalf("%x has not two samples, with the first link and without one, each with the sum 2: %x", got, samples)
	}
	if want := append([]byte{10, 16}, bytes.Repeat([]byte{10}, 16)...); !bytes.Contains(e.tables.Message(), want) {
		t.Error("the dictionary's links lack the trace id")
	}
}
