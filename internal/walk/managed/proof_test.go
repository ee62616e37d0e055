// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"

	"prywalk/frames"
)

// target is a process whose only objects are at address 8; with 0 it has none, and is unreadable if copied.
type target struct {
	objects     *Objects[*object]
	copied, now uint64
	asleep      bool
}

func (t *target) Read(uint64, []byte) int { return 0 }
func (t *target) Unchanged() bool         { return t.asleep }

func (t *target) Identify(_ uint64, now bool) (uint64, ObjectStatus) {
	switch {
	case now && t.now == 0:
		return 0, NotObject
	case now:
		return t.now, ObjectKnown
	}
	return t.copied, StatusOf(t.copied != 0)
}

type source struct{ *target }

func (s source) Read(addr uint64, want *uint64) (*object, ObjectStatus) {
	if s.now == 0 || want != nil && *want != s.now {
		return nil, ObjectFreed
	}
	e := &object{id: s.now}
	s.objects.Add(addr, e)
	return e, ObjectKnown
}

func TestAnObjectIsNamedByOneOfThreeProofs(t *testing.T) {
	const at = 1000
	for name, c := range map[string]struct {
		known       uint64 // before the sample
		checked     int64  // when a walk last found it unchanged
		timeless    bool   // the time of the sample is unknown
		copied, now uint64
		asleep      bool
		want        uint64 // 0 if it was freed
		live        bool
	}{
		"copied, and known":           {known: 1, copied: 1, now: 2, want: 1},
		"copied, and read after it":   {copied: 1, now: 1, want: 1},
		"copied, and replaced":        {copied: 1, now: 2},
		"copied, another was known":   {known: 2, copied: 1, now: 1, want: 1},
		"known before, and unchanged": {known: 1, now: 1, want: 1},
		"known before, and replaced":  {known: 1, now: 2},
		"not known, asleep":           {now: 1, asleep: true, want: 1, live: true},
		"replaced, asleep":            {known: 1, now: 2, asleep: true, want: 2, live: true},
		"not known, running":          {now: 1},

		"found after the sample, replaced":  {known: 1, checked: at, now: 2, want: 1},
		"found before the sample, replaced": {known: 1, checked: at - 1, now: 2},
		"known, sampled at an unknown time": {known: 1, checked: at, timeless: true, now: 1},
		"the same, asleep":                  {known: 1, timeless: true, now: 1, asleep: true, want: 1, live: true},
	} {
		var o Objects[*object]
		p := &target{objects: &o, copied: c.copied, now: c.now, asleep: c.asleep}
		if c.known != 0 {
			o.Add(8, &object{id: c.known, CacheEntry: CacheEntry{FirstRead: at - 1, LastChecked: c.checked}})
		}
		var v View
		sampledAt := int64(at)
		if c.timeless {
			sampledAt = 0
		}
		v.Begin(&Sample{Mem: &frames.Snapshot{}, At: sampledAt, Live: p})
		e, status, live := Prove(&o, &v, 8, source{p})
		got := uint64(0)
		if e != nil {
			got = e.id
		}
		if got != c.want || (status == ObjectKnown) != (c.want != 0) || live != c.live || v.UsedLive != c.live {
			t.Errorf("%s: object %d, status %d, live %v, %v; want object %d, live %v", name, got, status, live, v.UsedLive,
				c.want, c.live)
		}
		if e != nil && e.LastWalked != sampledAt {
			t.Errorf("%s: walked at %d, want %d", name, e.LastWalked, sampledAt)
		}
	}
}

func TestAnObjectThatIsNoneAnyMoreContradictsASleeper(t *testing.T) {
	var o Objects[*object]
	p := &target{objects: &o, asleep: true}
	var v View
	v.Begin(&Sample{Mem: &frames.Snapshot{}, At: 1, Live: p})
	if e, status, _ := Prove(&o, &v, 8, source{p}); e != nil || status != NotObject {
		t.Errorf("%v, status %d; want none, NotObject", e, status)
	}
}
