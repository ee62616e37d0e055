// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// newFakeVirtual is the thread 1 of a fakeSet, which waits with a chunk of eight words.
func newFakeVirtual(t *testing.T) (f *fakeSet, object, chunk uint64) {
	f = newFakeSet(t)
	cont, piece := f.newClass(classContinuation, "").klass, f.newClass(classChunk, "").klass
	maps.Copy(f.v.classes, map[string]uint64{classContinuation: cont, classChunk: piece})
	maps.Copy(f.v.fields, map[string]uint64{
		"java/lang/Thread.parkBlocker": 56, classVirtual + ".state": 40, classVirtual + ".carrierThread": 44,
		classVirtual + ".cont": 48, classContinuation + ".tail": 16, classChunk + ".parent": 16, classChunk + ".size": 20,
		classChunk + ".sp": 24, classChunk + ".bottom": 28,
	})
	f.v.seals, f.v.recording = map[uint64]seal{}, true
	f.v.pcAt, f.v.flagsAt, f.v.stackAt = 32, 40, 48
	f.v.find()
	object, chunk = f.v.objects[1], f.newObject(piece)
	continuation := f.newObject(cont)
	f.take(128)
	f.put32(object+40, 5)
	f.put32(object+48, int32(continuation))
	f.put32(continuation+16, int32(chunk))
	f.put32(chunk+20, 8)
	f.put32(chunk+24, 2)
	f.put32(chunk+28, 8)
	f.put(chunk+32, codeAt)
	for i := range uint64(8) {
		f.put(chunk+48+8*i, 0x1000+i)
	}
	return f, object, chunk
}

// runnable makes the threads have no frames: they have not begun.
func (f *fakeSet) runnable() {
	f.v.states = map[uint32]string{5: "STARTED"}
	chunk := f.word(f.word(f.v.objects[1]+48)&0xffffffff+16) & 0xffffffff
	f.put32(chunk+24, 8)
}

// collect counts a collection.
func (f *fakeSet) collect(full bool) {
	at := collectedHeapOf(f.threaded) + f.v.threads.layout.offset("CollectedHeap::_total_collections")
	if f.mem[at]++; full {
		f.mem[at+4]++
	}
}

// move copies the thread 1 to another place.
func (f *fakeSet) move(object uint64) (to uint64) {
	to = f.take(600)
	copy(f.mem[to:to+64], f.mem[object:])
	node := f.word(f.table+16) & 0xffffffff
	f.put32(node+16, int32(to))
	return to
}

// Dead copies of a thread say that it has not begun, the thread itself that it runs.
func TestAThreadIsReadAtItsPlaceAfterACollection(t *testing.T) {
	for name, c := range map[string]struct {
		collect func(f *fakeSet, object uint64) (moved uint64)
		want    managed.TaskStatus
	}{
		"a full one": {func(f *fakeSet, object uint64) uint64 {
			f.collect(true)
			return f.move(object)
		}, managed.TaskKnown},
		"full ones, without end": {func(f *fakeSet, object uint64) uint64 {
			f.collect(true)
			f.n.vm.readBy(func(addr uint64, b []byte) int {
				if addr == f.at+16 {
					f.collect(true)
				}
				return f.read(addr, b)
			})
			return f.move(object)
		}, managed.TaskChanges},
		"two that leave marks": {func(f *fakeSet, object uint64) uint64 {
			f.collect(false)
			second := f.move(object)
			f.put(object, second|markMarkedValue)
			f.collect(false)
			third := f.move(second)
			f.put(third, 1)
			f.put(second, third|markMarkedValue)
			return third
		}, managed.TaskKnown},
	} {
		f, object, _ := newFakeVirtual(t)
		f.runnable()
		states := map[managed.TaskState]int{}
		read := func(want managed.TaskStatus) {
			f.v.readBatch([]uint64{1}, func(_ uint64, task *managed.Task, status managed.TaskStatus) {
				if states[task.State]++; status != want {
					t.Errorf("%s: %d, want %d", name, status, want)
				}
			})
		}
		read(managed.TaskKnown)
		f.put32(c.collect(f, object)+44, int32(f.object))
		read(c.want)
		if c.want == managed.TaskKnown && (states[managed.TaskReady] != 1 || states[managed.TaskRunning] != 1) {
			t.Errorf("%s: %v", name, states)
		}
	}
}

func (f *fakeSet) readSealed(object uint64) (virtualThread, bool) {
	f.v.threads.vm.cached.drop()
	f.v.threads.vm.cached.begin(0)
	defer f.v.threads.vm.cached.bypass()
	return f.v.readSealed(object)
}

func TestASealHoldsOnlyWhileTheReadingIsTheSame(t *testing.T) {
	f, object, chunk := newFakeVirtual(t)
	want, ok := f.readSealed(object)
	if !ok || len(want.chunks) != 1 || len(want.words) != 64 || want.id != 1 || want.state != 5 {
		t.Fatalf("%v, %+v", ok, want)
	}
	breaking := map[uint64]bool{}
	for at := uint64(0); at < uint64(len(f.mem)); at += 8 {
		was := f.word(at)
		f.put(at, was^1<<33^1<<4)
		f.v.threads.vm.cached.drop()
		holds := f.v.holds(&want.seal)
		if got, ok := f.readSealed(object); holds && (!ok || !reflect.DeepEqual(got, want)) {
			t.Errorf("the seal holds with another word at %#x: %v, %+v", at, ok, got)
		}
		breaking[at] = !holds
		f.put(at, was)
	}
	for _, at := range []uint64{object, object + 32, object + 40, object + 48, chunk + 24, chunk + 32, chunk + 104} {
		if !breaking[at] {
			t.Errorf("the seal holds with another word at %#x", at)
		}
	}
	for _, at := range []uint64{object + 16, object + 24, object + 56, object + 64} { // not read
		if breaking[at] {
			t.Errorf("the seal does not hold with another word at %#x", at)
		}
	}
	f.v.threads.vm.cached.drop()
	if !f.v.holds(&want.seal) {
		t.Error("the seal of the same bytes does not hold")
	}
}

func TestTheNextQueryDoesNotCopyPagesOfThreads(t *testing.T) {
	f, object, _ := newFakeVirtual(t)
	f.v.find()
	read, _ := f.readSealed(object)
	f.v.seals[1] = read.seal
	f.v.changed([]uint64{1})
	f.v.threads.vm.cached.pages.Reread(f.v.threads.vm.cached.process, func(parts []frames.Region) int {
		t.Errorf("%d pages", len(parts))
		return 0
	})
}

func TestAReadingWhosePagesWereReadAtSeveralTimesHasNoSeal(t *testing.T) {
	f, object, chunk := newFakeVirtual(t)
	reads := 0
	f.n.vm.readBy(func(addr uint64, b []byte) int {
		if reads++; addr&^0xfff == chunk&^0xfff {
			f.v.threads.vm.cached.pages.Dropped++ // as by too many pages
		}
		return f.read(addr, b)
	})
	if _, ok := f.readSealed(object); ok || reads == 0 {
		t.Errorf("%d reads, %v", reads, ok)
	}
}

func TestUnchangedThreadsAreThoseOfTheListWhoseSealsHold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *fakeSet, object, chunk uint64)
		want   bool
	}{
		"nothing":           {func(*fakeSet, uint64, uint64) {}, true},
		"its state":         {func(f *fakeSet, object, _ uint64) { f.put32(object+40, 6) }, false},
		"a frame":           {func(f *fakeSet, _, chunk uint64) { f.put(chunk+104, 7) }, false},
		"a collection":      {func(f *fakeSet, _, _ uint64) { f.collect(false) }, true},
		"a full collection": {func(f *fakeSet, _, _ uint64) { f.collect(true) }, true},
		"a collection, and a reading": {func(f *fakeSet, _, _ uint64) {
			clear(f.v.seals)
			f.runnable()
			f.collect(true)
			f.v.readBatch([]uint64{1}, func(uint64, *managed.Task, managed.TaskStatus) {})
		}, true},
		"a full collection that moves it": {func(f *fakeSet, object, _ uint64) {
			f.collect(true)
			f.move(object)
		}, false},
		"now": {func(f *fakeSet, _, _ uint64) { f.mem[collectedHeapOf(f.threaded)+16] = 1 }, false},
		"changed last time": {func(f *fakeSet, object, _ uint64) {
			f.put(object+32, 7) // it has another number
			f.v.readBatch([]uint64{1}, func(uint64, *managed.Task, managed.TaskStatus) {})
			f.put(object+32, 1)
		}, false},
		"a list that lacks it": {func(f *fakeSet, _, _ uint64) {
			delete(f.v.objects, 1)
			f.v.adoptList()
		}, false},
		"a list that is not complete": {func(f *fakeSet, _, _ uint64) {
			f.put(f.at+24, 3)
			f.v.find()
		}, true},
		"a list of other colours": {func(f *fakeSet, _, _ uint64) {
			f.v.lastRead.colours.staleBits ^= 1
			f.v.adoptList()
		}, false},
	} {
		f, object, chunk := newFakeVirtual(t)
		if len(f.v.changed([]uint64{1, 2})) != 2 {
			t.Errorf("%s: unchanged before any reading", name)
		}
		f.v.find()
		read, ok := f.readSealed(object)
		f.v.seals[1] = read.seal
		c.change(f, object, chunk)
		got := f.v.changed([]uint64{1, 2})
		if unchanged := slices.Equal(got, []uint64{2}); !ok || unchanged != c.want || !unchanged && len(got) != 2 {
			t.Errorf("%s: %v, %v", name, ok, got)
		}
	}
}
