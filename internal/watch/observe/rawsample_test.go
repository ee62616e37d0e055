// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"reflect"
	"testing"

	"prywalk/frames"
)

func TestCopiedCountsTheStackAndFurtherPieces(t *testing.T) {
	s := &RawSample{}
	if n := s.Copied(); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
	s.Mem.Stack.Bytes = make([]byte, 100)
	s.keepOthers([]frames.Region{{Bytes: make([]byte, 20)}, {Bytes: make([]byte, 3)}})
	if n := s.Copied(); n != 123 {
		t.Errorf("%d bytes, not 123", n)
	}
	if n := testing.AllocsPerRun(10, func() { s.Copied() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAThreadThatIsDiscoveredTakesLittleMemory(t *testing.T) {
	n := reflect.TypeFor[Thread]().Size() + reflect.TypeFor[WalkFeedback]().Size()
	if n > 4<<10 {
		t.Errorf("%d bytes", n)
	}
}
