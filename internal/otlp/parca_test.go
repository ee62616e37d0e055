// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"prywalk/internal/protobuf"
)

// An index, and the one before it, must lead to the same function as in the message.
func TestFunctionsForParca(t *testing.T) {
	message := sampleMessage(20)
	m, err := ForParca(message)
	if err != nil {
		t.Fatal(err)
	}
	before, err := decode(message)
	if err != nil {
		t.Fatal(err)
	}
	after, err := decode(m)
	if err != nil {
		t.Fatal(err)
	}
	old, now := indices(t, before), indices(t, after)
	if len(old) < 20 || len(old) != len(now) {
		t.Fatalf("%d lines of %d", len(now), len(old))
	}
	for i, k := range now {
		want := before.tables[tableFunctions][old[i]]
		for _, at := range []uint64{k, k - 1} {
			if got := after.tables[tableFunctions][at]; !bytes.Equal(got, want) {
				t.Errorf("function %d is %q, want %q", at, got, want)
			}
		}
	}
	if len(after.tables[tableFunctions][0]) != 0 {
		t.Errorf("the first function is %q", after.tables[tableFunctions][0])
	}
	want, got := withoutResources(sums(t, message)), withoutResources(sums(t, m))
	if len(want) < 20 || !maps.Equal(got, want) {
		t.Errorf("sums are %v, want %v", got, want)
	}
	var pid, tid protobuf.Message
	pid.Bytes(1, KeyValue("process.pid", "1"))
	tid.Bytes(2, anyValue("19"))
	if !bytes.Contains(m, pid) || !bytes.Contains(m, tid) {
		t.Error("the process's number or the thread's is no text")
	}
	if _, err := ForParca(m[:len(m)-1]); err == nil {
		t.Error("a damaged message was taken")
	}
}

func withoutResources(sums map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for k, v := range sums {
		_, names, _ := strings.Cut(k, " ")
		out[names] += v
	}
	return out
}

func indices(t *testing.T, s *source) (list []uint64) {
	t.Helper()
	for _, l := range s.tables[tableLocations] {
		if err := fields(l, func(f protobuf.Field) error {
			if f.Number != 3 {
				return nil
			}
			return fields(f.Body, func(g protobuf.Field) error {
				if g.Number == 1 {
					list = append(list, g.Value)
				}
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
