// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"testing"
	"time"

	"prywalk/internal/profile"
	"prywalk/internal/protobuf"
)

func newTestEncoder() (*encoder, profile.Interval) {
	b := profile.NewBuilder(profile.Meta{Discard: true})
	iv := profile.Interval{Stack: b.Intern([]profile.Loc{{Addr: 0x400030}}), PID: 1 << 30, Comm: "app", State: "sleeping"}
	return &encoder{names: profile.NewNames(b, nil), resources: newResources(ResourceOptions{})}, iv
}

func windowOf(list ...profile.Interval) *window {
	s := newTestBuilder()
	for _, iv := range list {
		s.Add(iv)
	}
	s.finish(begun.Add(time.Second))
	return <-s.finished
}

func TestOwnersAreSent(t *testing.T) {
	e, iv := newTestEncoder()
	iv.Wall = 5
	for owner, text := range map[int]string{4711: "4711", profile.NoOwner: profile.OwnerNoneText} {
		iv.Owner = owner
		m := e.encode(windowOf(iv))
		if m.intervals != 1 || m.profiles != 1 {
			t.Errorf("%d intervals in %d profiles, want 1 in 1", m.intervals, m.profiles)
		}
		var key, value protobuf.Message
		key.Bytes(5, []byte("prywalk.owner"))
		value.Bytes(1, []byte(text))
		if !bytes.Contains(m.body, key) || !bytes.Contains(m.body, value) {
			t.Errorf("owner %q is not in the message", text)
		}
	}
}

func TestIntervalsWithoutTimeAreNotCounted(t *testing.T) {
	e, iv := newTestEncoder()
	empty := iv
	iv.Wall = 5
	if m := e.encode(windowOf(iv, empty, iv)); m.intervals != 2 {
		t.Errorf("%d intervals, want 2", m.intervals)
	}
	if m := e.encode(windowOf(empty)); m.intervals != 0 || m.body != nil {
		t.Errorf("%d intervals, %d bytes, want none", m.intervals, len(m.body))
	}
}

func TestTimesFollowTheClockAsItIsSet(t *testing.T) {
	e, iv := newTestEncoder()
	iv.Wall, iv.End = 5, begun.UnixNano()+7
	for _, set := range []time.Duration{0, time.Hour, -time.Minute, time.Microsecond} {
		s := newTestBuilder()
		began := s.offsetAtStart
		s.unixOffset = func() int64 { return began + int64(set) }
		s.Add(iv)
		s.finish(begun.Add(time.Second + set))
		m := e.encode(<-s.finished).body
		want := begun.Add(set)
		if set == time.Microsecond {
			want = begun
		}
		var profile, sample protobuf.Message
		profile.Fixed(3, uint64(want.UnixNano()))
		sample.Fixeds(5, []uint64{uint64(want.UnixNano()) + 7})
		if !bytes.Contains(m, profile) || !bytes.Contains(m, sample) {
			t.Errorf("the clock is set by %s: the message does not begin at %s", set, want)
		}
	}
}

func TestAWindowThatIsTooLargeIsSentInParts(t *testing.T) {
	e, iv := newTestEncoder()
	var list []profile.Interval
	for i := range 20_000 {
		iv.Wall, iv.TID, iv.End = 5, 1+i%7, begun.UnixNano()+int64(i)
		list = append(list, iv)
	}
	r := &receiver{answer: func([]byte) (reply, *failure) { return reply{}, nil }}
	s, m := newTestSender(r, minMessage)
	s.enqueueWindow(e, windowOf(list...))
	s.sendWaiting(t.Context())
	for _, size := range r.sizes {
		if size > minMessage {
			t.Errorf("a message of %d bytes", size)
		}
	}
	if sent, _ := m.Sent(); len(r.sizes) < 3 || r.points != len(list) || sent != int64(len(list)) || m.Lost() != 0 {
		t.Errorf("%d points came in %d messages, %d are counted, %d lost", r.points, len(r.sizes), sent, m.Lost())
	}
}
