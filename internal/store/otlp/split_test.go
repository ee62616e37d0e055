// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
)

// sampleMessage has two resources with so many samples each, of three points each.
func sampleMessage(samples int) protobuf.Message {
	var m protobuf.Message
	d := NewDictionary(nil)
	for pid := range int64(2) {
		var r, about, scope, p protobuf.Message
		about.Bytes(1, KeyValue("process.pid", pid))
		r.Bytes(1, about)
		p.Bytes(1, d.ValueType("cpu", "nanoseconds"))
		for i := range int64(samples) {
			var s protobuf.Message
			at := &profile.Mapping{Start: 4096, Limit: 1 << 20, File: "/bin/a", BuildID: "abc"}
			locationOf := func(addr uint64, function string, start, line int64) int64 {
				f := &profile.Function{Name: function, Filename: "a.c", StartLine: start}
				return d.Location(&profile.Location{Mapping: at, Address: addr, Line: []profile.Line{{Function: f, Line: line}}})
			}
			loc := locationOf(5000+uint64(i), fmt.Sprint("f", i), i, i)
			root := locationOf(4096, "main", 1, 3)
			s.Int(1, d.Stack([]int64{loc, root}))
			s.Ints(2, []int64{d.Attribute("thread.id", i), d.Attribute("thread.name", "t")})
			s.Ints(4, []int64{i + 1, 10, 100})
			s.Fixeds(5, []uint64{1, 2, 3})
			p.Bytes(2, s)
		}
		p.Fixed(3, 77)
		p.Bytes(7, []byte("0123456789abcdef"))
		p.Ints(11, []int64{d.Attribute("profile", fmt.Sprint("of ", pid))})
		scope.Bytes(2, p)
		r.Bytes(2, scope)
		m.Bytes(1, r)
	}
	m.Bytes(2, d.Message())
	return m
}

func sums(t *testing.T, m []byte) map[string]int64 {
	t.Helper()
	tables, err := tablesOf(m)
	if err != nil {
		t.Fatal(err)
	}
	text := func(i uint64) string { return string(tables[tableStrings][i]) }
	number := func(m []byte, number int) (v uint64) {
		_ = fields(m, func(f protobuf.Field) error {
			if f.Number == number {
				v = f.Value
			}
			return nil
		})
		return v
	}
	list := func(m []byte, number int) (l []uint64) {
		_ = fields(m, func(f protobuf.Field) error {
			if f.Number == number {
				return numbers(&f, func(v uint64) { l = append(l, v) })
			}
			return nil
		})
		return l
	}
	out := map[string]int64{}
	add := func(key string, sample []byte) error {
		for _, l := range list(tables[tableStacks][number(sample, 1)], 1) {
			_ = fields(tables[tableLocations][l], func(f protobuf.Field) error {
				if f.Number == 3 {
					key += " " + text(number(tables[tableFunctions][number(f.Body, 1)], 1))
				}
				return nil
			})
		}
		for _, a := range list(sample, 2) {
			key += " " + text(number(tables[tableAttributes][a], 1))
		}
		values, times, _, err := points(sample)
		if err != nil || len(values) != len(times) {
			t.Fatalf("%d values, %d times, %v", len(values), len(times), err)
		}
		for _, v := range values {
			out[key] += v
		}
		return nil
	}
	err = eachAt(m, samplePath[:1], func(resource []byte) error {
		about := ""
		_ = fields(resource, func(f protobuf.Field) error {
			if f.Number != 2 {
				about += string(f.Raw)
			}
			return nil
		})
		return eachAt(resource, samplePath[1:], func(sample []byte) error { return add(about, sample) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPartsOfAMessageHaveAllOfIt(t *testing.T) {
	whole := sampleMessage(20)
	want, got := sums(t, whole), map[string]int64{}
	parts, largest := 0, 0
	var divide func(m protobuf.Message)
	divide = func(m protobuf.Message) {
		a, b, err := Split(m)
		if errors.Is(err, ErrSinglePoint) {
			parts++
			largest = max(largest, len(m))
			for k, v := range sums(t, m) {
				got[k] += v
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		divide(a)
		divide(b)
	}
	divide(whole)
	if parts != 2*20*3 || !maps.Equal(want, got) {
		t.Errorf("%d parts; sums\n%v, want\n%v", parts, got, want)
	}
	if largest > len(whole)/7 {
		t.Errorf("a part of one point has %d bytes, the whole %d: entries are kept that it does not use", largest, len(whole))
	}
	if n, err := Points(whole); err != nil || n != 120 {
		t.Errorf("%d points, %v", n, err)
	}
}

func TestAHalfHasNoEntryOfProfilesThatItLacks(t *testing.T) {
	a, b, err := Split(sampleMessage(20)) // of two profiles with as many points
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []protobuf.Message{a, b} {
		has, lacks := fmt.Appendf(nil, "of %d", i), fmt.Appendf(nil, "of %d", 1-i)
		if !bytes.Contains(m, has) || bytes.Contains(m, lacks) {
			t.Errorf("half %d: has its own entry: %v, the other's: %v", i, bytes.Contains(m, has), bytes.Contains(m, lacks))
		}
	}
}

// A receiver may drop a profile with an id that it has seen.
func TestDividedProfilesHaveIdsOfTheirOwn(t *testing.T) {
	a, b, err := Split(sampleMessage(1))
	if err != nil {
		t.Fatal(err)
	}
	c, d, err := Split(a)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range []protobuf.Message{a, b, c, d} {
		err := eachAt(m, []int{1, 2, 2, 7}, func(id []byte) error {
			if seen[string(id)] || len(id) != 16 {
				t.Errorf("id %x", id)
			}
			seen[string(id)] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d ids", len(seen))
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(sampleMessage(2)))
	f.Add([]byte{0x12, 2, 0x3a, 0})
	f.Fuzz(func(t *testing.T, m []byte) {
		n, err := Points(m)
		a, b, splitErr := Split(m)
		if err != nil || splitErr != nil {
			return
		}
		x, errA := Points(a)
		y, errB := Points(b)
		if errA != nil || errB != nil || x+y != n {
			t.Errorf("%d points, %d and %d in the parts: %v, %v", n, x, y, errA, errB)
		}
	})
}

func FuzzReplies(f *testing.F) {
	f.Add([]byte{0x0a, 2, 0x08, 3}, []byte{0x0a, 2, 0x08, 3})
	var long, info protobuf.Message
	for range 5 { // the last counts
		long.Int(1, math.MaxInt32-1)
	}
	info.Bytes(1, long)
	f.Add([]byte{}, []byte(info))
	f.Fuzz(func(t *testing.T, reply, info []byte) {
		if n, _, err := Rejected(reply); err == nil && n < 0 {
			t.Errorf("%d rejected", n)
		}
		if d, ok := RetryDelay(info); d < 0 || d > 0 && !ok || retryDelay(info) < 0 {
			t.Errorf("again after %s, %v; %s", d, ok, retryDelay(info))
		}
	})
}
