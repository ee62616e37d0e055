// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
)

func written(tb testing.TB) []byte {
	var buf bytes.Buffer
	if err := testBuilder(false).Write(&buf, names); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func unzipped(tb testing.TB, b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		tb.Fatal(err)
	}
	b, err = io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func zipped(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(b)
	w.Close()
	return buf.Bytes()
}

func TestOtherToolsProfilesAreRead(t *testing.T) {
	for _, kind := range []string{"goroutine", "heap"} {
		var proto, text bytes.Buffer
		pprof.Lookup(kind).WriteTo(&proto, 0)
		pprof.Lookup(kind).WriteTo(&text, 1)
		for form, data := range map[string][]byte{"proto": proto.Bytes(), "text": text.Bytes()} {
			if p, err := Read(bytes.NewReader(data)); err != nil || len(p.SampleType) == 0 {
				t.Errorf("%s as %s: %v", kind, form, err)
			}
		}
	}
	if _, err := Read(bytes.NewReader(unzipped(t, written(t)))); err != nil {
		t.Errorf("uncompressed: %v", err)
	}
}

func TestWrongFilesAreNamed(t *testing.T) {
	good := written(t)
	plain := unzipped(t, good)
	for name, c := range map[string]struct {
		data []byte
		err  error
		text string
	}{
		"empty":           {nil, errEmpty, "empty"},
		"nothing in gzip": {zipped(nil), errEmpty, "empty"},
		"cut gzip":        {good[:len(good)/2], errTruncated, "cut short"},
		"cut gzip header": {good[:5], errTruncated, "cut short"},
		"cut message":     {plain[:len(plain)-3], errTruncated, "cut short"},
		"perf":            {[]byte("PERFILE2\x68\x00\x00\x00"), ErrFormat, "perf.data"},
		"json":            {[]byte(`{"meta":{}}`), ErrFormat, "JSON"},
		"elf":             {[]byte("\x7fELF\x02\x01"), ErrFormat, "program"},
		"text":            {[]byte("hello world\n"), ErrFormat, "not a pprof profile"},
		"bad gzip":        {append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, 0xff, 0xff, 0xff), ErrFormat, "compression"},
		"many entries":    {zipped(bytes.Repeat([]byte{0x12, 0}, 1<<25)), errTooLarge, "too large"},
		"many labels":     {zipped(manyLabels()), errTooLarge, "too large"},
	} {
		_, err := Read(bytes.NewReader(c.data))
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.err, c.text)
		}
	}
}

func manyLabels() []byte {
	var m protobuf.Message
	m.Bytes(fieldSample, bytes.Repeat([]byte{0x1a, 0}, maxSampleFields+1))
	return m
}

func FuzzRead(f *testing.F) {
	good := written(f)
	f.Add(good)
	f.Add(unzipped(f, good))
	f.Add([]byte("PERFILE2"))
	f.Add([]byte("heap profile: 1: 2 [3: 4] @ heap/1\n1: 2 [3: 4] @ 0x1 0x2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err == nil && p.CheckValid() != nil {
			t.Error("an invalid profile was accepted")
		}
		if other, e := profile.ParseUncompressed(data); e == nil && other.CheckValid() == nil && len(other.SampleType) > 0 &&
			len(data) > 0 {
			same(t, p, other, err)
		}
	})
}

const bigIntervals = 100_000

func bigBuilder() *Builder {
	b := NewBuilder(Meta{Start: time.Unix(1, 0), Period: 1e7})
	stack := make([]Loc, 40)
	for i := range bigIntervals {
		for d := range stack {
			stack[d] = Loc{Module: testMain, Addr: 0x400000 + uint64(d*1000+i*7919%2000>>(d/4))}
		}
		b.Add(Interval{Stack: b.Intern(stack), PID: 1, TID: i % 200, Comm: "server", Thread: "worker", State: "running",
			End: int64(i) * 1e5, Samples: 1, Wall: 1e7 + int64(i), RunQueue: int64(i % 1000), CPU: 9e6 + int64(i)})
	}
	return b
}

func BenchmarkWrite100k(b *testing.B) {
	big := bigBuilder()
	b.ReportAllocs()
	for b.Loop() {
		if err := big.Write(io.Discard, names); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(memory(big))/bigIntervals, "B/interval")
}

func BenchmarkInternAndAdd(b *testing.B) {
	p := NewBuilder(Meta{})
	stack := make([]Loc, 40)
	for d := range stack {
		stack[d] = Loc{Module: testMain, Addr: 0x400000 + uint64(d)}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.Add(Interval{Stack: p.Intern(stack), PID: 1, TID: i % 200, State: "running", End: int64(i) * 1e5, Samples: 1,
			Wall: 1e7, CPU: 1e7})
	}
}

func TestProfileWhoseSumsDoNotFitIsRefused(t *testing.T) {
	const most = 1 << 62
	for _, c := range []struct {
		values  []int64
		refused bool
	}{
		{[]int64{most}, false}, {[]int64{most - 5, -5}, false}, {[]int64{-most}, false},
		{[]int64{most, 1}, true}, {[]int64{most, -1}, true}, {[]int64{math.MaxInt64}, true}, {[]int64{math.MinInt64}, true},
		{[]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}, true}, {[]int64{math.MinInt64, math.MinInt64}, true},
	} {
		f := &profile.Function{ID: 1, Name: "f"}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Function: []*profile.Function{f},
			Location: []*profile.Location{l},
		}
		for _, v := range c.values {
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{v}})
		}
		var file bytes.Buffer
		if err := p.Write(&file); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&file); errors.Is(err, ErrFormat) != c.refused || err != nil && !c.refused {
			t.Errorf("%d: %v, want a refusal: %v", c.values, err, c.refused)
		}
	}
}

func TestProfileOfManyTypesOfValuesIsRefused(t *testing.T) {
	for _, n := range []int{maxTypes, maxTypes + 1} {
		p := &profile.Profile{}
		for range n {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
		}
		var file bytes.Buffer
		if err := p.Write(&file); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&file); errors.Is(err, ErrFormat) != (n > maxTypes) {
			t.Errorf("%d types: %v", n, err)
		}
	}
}
