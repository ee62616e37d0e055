// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"testing"
	"time"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/store/profile"
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
	return <-s.finished // finish has sent it
}

func TestOwnersAreSent(t *testing.T) {
	e, iv := newTestEncoder()
	iv.Wall = 5
	for owner, text := range map[int]string{
		4711: "4711", profile.NoOwner: profile.OwnerNoneText, profile.ParentOwner: profile.OwnerParentText,
	} {
		iv.Owner = owner
		m, intervals := e.encode(windowOf(iv))
		if intervals != 1 {
			t.Errorf("%d intervals, want 1", intervals)
		}
		var key, value protobuf.Message
		key.Bytes(5, []byte("prywalk.owner"))
		value.Bytes(1, []byte(text))
		if !bytes.Contains(m, key) || !bytes.Contains(m, value) {
			t.Errorf("owner %q is not in the message", text)
		}
	}
}

// A program's labels can hold customers' names, and the ids of its requests.
func TestLabelsOfProgramsAreNotSent(t *testing.T) {
	e, iv := newTestEncoder()
	iv.Wall = 5
	plain, _ := e.encode(windowOf(iv))
	e, _ = newTestEncoder()
	iv.Labels = profile.LabelText(map[string]string{
		"customer": "hunter2", profile.LabelTrace: "0af7651916cd43dd8448eb211c80319c", profile.LabelSpan: "b7ad6b7169203331",
	})
	if labelled, _ := e.encode(windowOf(iv)); len(labelled) != len(plain) || bytes.Contains(labelled, []byte("hunter2")) {
		t.Errorf("%d bytes with labels, want %d, as without: %q", len(labelled), len(plain), labelled)
	}
}

func TestIntervalsWithoutTimeAreNotCounted(t *testing.T) {
	e, iv := newTestEncoder()
	empty := iv
	iv.Wall = 5
	if _, n := e.encode(windowOf(iv, empty, iv)); n != 2 {
		t.Errorf("%d intervals, want 2", n)
	}
	if m, n := e.encode(windowOf(empty)); n != 0 || m != nil {
		t.Errorf("%d intervals, %d bytes, want none", n, len(m))
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
		m, _ := e.encode(<-s.finished) // finish has sent it
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
