// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
)

// Pages of the last query are read in one call.
func counting(v *VM, calls *int) {
	read := v.host.Read
	v.readBy(func(addr uint64, b []byte) int {
		*calls++
		return read(addr, b)
	})
	v.cached.readParts = func(parts []frames.Region) (n int) {
		*calls++
		for n < len(parts) && read(parts[n].Addr, parts[n].Bytes) == len(parts[n].Bytes) {
			n++
		}
		return n
	}
}

const mostWaitReads = 8 // 6 of them for the number of collections

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
			counting(w.n.vm, &calls)
			got, ok := w.ask()
			if !ok || got.Later || calls > mostWaitReads {
				t.Errorf("%s, %s: %d reads: %+v, %v", release, name, calls, got, ok)
			}
			t.Logf("%s, %s: %d reads", release, name, calls)
		}
	}
}

func TestThreadNameTakesFewReads(t *testing.T) {
	m := newThreaded(t, "JDK 17")
	m.n.threadName(fakeTID)
	calls := 0
	counting(m.n.vm, &calls)
	if name, ok := m.n.threadName(fakeTID); !ok || name != fakeThread || calls > mostNameReads {
		t.Errorf("%q, %v: %d reads", name, ok, calls)
	}
}

const mostNameReads = 9

func TestCachedMemoryIsReadAgainOnceDropped(t *testing.T) {
	f := newFake()
	v := f.open(t)
	k := &v.cached
	word := func() uint64 { return v.memory().word(stringsAt) }
	f.put(stringsAt, 1)
	k.begin(0)
	first := word()
	f.put(stringsAt, 2)
	kept := word()
	k.drop()
	dropped := word()
	f.put(stringsAt, 3)
	k.bypass()
	if off := word(); first != 1 || kept != 1 || dropped != 2 || off != 3 {
		t.Errorf("%d %d %d %d", first, kept, dropped, off)
	}
}
