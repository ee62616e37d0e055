// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

func scattered(v *VM, calls *int) {
	read := v.o.Read
	v.cached.unit = 128
	v.o.Read = func(addr uint64, b []byte) int {
		*calls++
		return read(addr, b)
	}
	v.o.Gather = func(parts []frames.Region) int {
		*calls++
		for i := range parts {
			if read(parts[i].Addr, parts[i].Bytes) < len(parts[i].Bytes) {
				return i
			}
		}
		return len(parts)
	}
}

var mostWaitReads = map[string]int{"sleep": 6, "monitor": 15, "notification": 12, "lock": 13}

func TestWaitTakesFewReads(t *testing.T) {
	for _, release := range []string{"JDK 17", "JDK 25"} {
		for name, do := range map[string]func(*waiting){
			"monitor": (*waiting).enters, "lock": (*waiting).parks, "sleep": (*waiting).sleeps,
			"notification": (*waiting).notified,
		} {
			w := newWaiting(t, release)
			do(w)
			w.ask()
			calls := 0
			scattered(w.n.vm, &calls)
			got, ok := w.ask()
			if !ok || got.Later || calls > mostWaitReads[name] {
				t.Errorf("%s, %s: %d reads: %+v, %v", release, name, calls, got, ok)
			}
			t.Logf("%s, %s: %d reads", release, name, calls)
		}
	}
}

func TestThreadNameTakesFewReads(t *testing.T) {
	m := newThreaded(t, "JDK 17")
	m.n.ThreadName(fakeTID)
	calls := 0
	scattered(m.n.vm, &calls)
	if name, ok := m.n.ThreadName(fakeTID); !ok || name != fakeThread || calls > mostNameReads {
		t.Errorf("%q, %v: %d reads", name, ok, calls)
	}
}

const mostNameReads = 9

func TestCachedMemoryIsRereadOnRequest(t *testing.T) {
	for _, gathers := range []bool{false, true} {
		f := newFake()
		v := f.open(t)
		calls := 0
		scattered(v, &calls)
		if !gathers {
			v.o.Gather = nil
		}
		k := v.cached
		word := func() uint64 { return v.memory().word(stringsAt) }
		f.put(stringsAt, 1)
		k.enable(0)
		first := word()
		f.put(stringsAt, 2)
		kept := word()
		k.rereadAll()
		again := word()
		f.put(stringsAt, 3)
		k.drop()
		dropped := word()
		f.put(stringsAt, 4)
		k.disable()
		if off := word(); first != 1 || kept != 1 || again != 2 || dropped != 3 || off != 4 {
			t.Errorf("gathered: %v: %d %d %d %d %d", gathers, first, kept, again, dropped, off)
		}
		k.enable(0)
		for i := range uint64(3 * maxCached) {
			f.put(codeEnd+64*i, i)
		}
		for range 2 {
			for i := range uint64(3 * maxCached) {
				if got := v.memory().word(codeEnd + 64*i); got != i {
					t.Fatalf("unit %d: %d", i, got)
				}
			}
		}
		b := make([]byte, 1000)
		if !v.memory().bytes(codeEnd, b) || wordAt(b[640:]) != 10 {
			t.Error("a large place has other bytes")
		}
		if v.memory().bytes(memEnd-4, b[:8]) {
			t.Error("memory that is not there was read")
		}
		k.drop()
		k.fetch(extent{codeEnd, 8}, extent{memEnd + 640, 8}, extent{codeEnd + 64, 8})
		if v.memory().word(codeEnd+64) != 1 || v.memory().word(codeEnd) != 0 {
			t.Error("places beside one that is not there have other bytes")
		}
	}
}
