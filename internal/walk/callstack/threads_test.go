// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"testing"

	"prywalk/internal/walk/managed"
)

type naming struct {
	managed.FrameSource
	names map[int]string
}

func (n naming) ThreadName(tid int) (string, bool) {
	name, ok := n.names[tid]
	return name, ok
}

func TestThreadNameIsThatOfTheFirstRuntimeWithOne(t *testing.T) {
	sources := []managed.FrameSource{struct{ managed.FrameSource }{}, naming{names: map[int]string{1: "", 2: "two"}},
		naming{names: map[int]string{1: "one", 2: "zwei"}}}
	for tid, want := range map[int]string{1: "one", 2: "two", 3: ""} {
		if got, ok := ThreadName(sources, tid); got != want || ok != (want != "") {
			t.Errorf("thread %d: name %q, %v; want %q", tid, got, ok, want)
		}
	}
}

func (naming) Postponed() bool { return false }

func (n naming) Role(tid int, name string) (string, bool) {
	_, ok := n.names[tid]
	return name + "s", ok
}

func TestRoleIsThatOfTheFirstRuntimeWithOne(t *testing.T) {
	sources := []managed.FrameSource{struct{ managed.FrameSource }{}, naming{}, naming{names: map[int]string{1: "one"}}}
	if got, none := Role(sources, 1, "collector"), Role(sources, 2, "collector"); got != "collectors" || none != "" {
		t.Errorf("roles %q and %q, want collectors and none", got, none)
	}
}
