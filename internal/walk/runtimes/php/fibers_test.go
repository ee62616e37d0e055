// SPDX-License-Identifier: Apache-2.0

package php

import (
	"maps"
	"testing"

	"prywalk/internal/walk/managed"
)

const (
	aClass   = 0x7f0000010000 // and 8 bytes before it the variable
	anArray  = 0x7f0000020000
	aFiber   = 0x7f0000030000
	aBottom  = 0x7f0000040000
	aNothing = 0x7f0000050000 // the nameless function
)

type liveMemory struct {
	*image
	memory
}

func (m liveMemory) Read(addr uint64, b []byte) int     { return m.memory.Read(addr, b) }
func (m liveMemory) Word(addr uint64) (uint64, bool)    { return m.memory.Word(addr) }
func (liveMemory) Cut(uint64) bool                      { return false }
func (liveMemory) Unchanged() bool                      { return true }
func (m liveMemory) ReadCode(addr uint64, b []byte) int { return m.memory.Read(addr, b) }

// oneFiber has a fiber that is suspended in a call of "waits".
func oneFiber() (memory, *Runtime) {
	m, r := oneCall("waits")
	objects, call := aGlobals+uint64(r.layout.objects), aFiber+uint64(r.layout.fiberCall)
	m[aClass-8] = aClass
	m[objects], m[objects+objectsTop] = anArray, 2
	m[anArray+8] = aFiber
	m[aFiber+objectHandle], m[aFiber+objectClass], m[aFiber+fiberKind] = 1, aClass, aClass
	m[aFiber+fiberStatus] = fiberSuspended
	m[call], m[call+8] = aCall, aBottom
	m[aCall+callPrev], m[aBottom+callFunc], m[aNothing] = aBottom, aNothing, typeInternal
	for at := range maps.Clone(m) { // whole pages
		for i := range uint64(512) {
			m[at&^0xfff+8*i] += 0
		}
	}
	r.host = liveMemory{&image{}, m}
	r.fibers = fibers{php: r, classAt: aClass - 8}
	return m, r
}

func TestFibersThatDoNotWaitOrAreDamagedAreLeftOut(t *testing.T) {
	call := func(r *Runtime) uint64 { return aFiber + uint64(r.layout.fiberCall) }
	for name, c := range map[string]struct {
		change func(memory, *Runtime)
		want   managed.TaskList
	}{
		"not begun":        {func(m memory, _ *Runtime) { m[aFiber+fiberKind] = 0 }, managed.TaskList{}},
		"running":          {func(m memory, _ *Runtime) { m[aFiber+fiberStatus] = 1 }, managed.TaskList{}},
		"resumes another":  {func(m memory, _ *Runtime) { m[aFiber+fiberCaller] = aNothing }, managed.TaskList{}},
		"a free slot":      {func(m memory, _ *Runtime) { m[anArray+8] |= 1 }, managed.TaskList{}},
		"of another class": {func(m memory, _ *Runtime) { m[aFiber+objectClass] = aNothing }, managed.TaskList{}},
		"not its bottom":   {func(m memory, r *Runtime) { m[call(r)+8] = aNothing }, managed.TaskList{Unproven: 1}},
		"a cycle":          {func(m memory, _ *Runtime) { m[aCall+callPrev] = aCall }, managed.TaskList{Unproven: 1}},
		"no bottom":        {func(m memory, _ *Runtime) { m[aCall+callPrev] = 0 }, managed.TaskList{Unproven: 1}},
		"of its resumer":   {func(m memory, _ *Runtime) { m[aBottom+callPrev] = aCall }, managed.TaskList{Unproven: 1}},
		"no array":         {func(m memory, _ *Runtime) { delete(m, anArray+8) }, managed.TaskList{Unlisted: 1}},
		"too many": {func(m memory, r *Runtime) { m[aGlobals+uint64(r.layout.objects)+objectsTop] = 1 << 30 },
			managed.TaskList{Unlisted: 1}},
		"release without fibers": {func(_ memory, r *Runtime) { r.layout.fiberCall = 0 }, managed.TaskList{}},
	} {
		m, r := oneFiber()
		c.change(m, r)
		got := r.Coroutines(asleep{})
		got.Tasks = nil
		if got.Unproven != c.want.Unproven || got.Unlisted != c.want.Unlisted || got.Changed != 0 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestWaitsOfFibersAreNamedByTheFunctionThatTheProgramCalled(t *testing.T) {
	_, r := oneFiber()
	list := r.Coroutines(asleep{})
	if len(list.Tasks) != 1 || list.Tasks[0].Name != "Fiber #1" || list.Tasks[0].ID != aFiber ||
		list.Tasks[0].Wait != "waits" || len(list.Tasks[0].Frames) != 1 {
		t.Errorf("%+v", list)
	}
	for file, want := range map[string]bool{
		"/app/vendor/revolt/event-loop/src/EventLoop.php": true, "/app/vendor/amphp/amp/src/Future.php": true,
		"/app/vendor/react/async/src/SimpleFiber.php": true, "/app/vendor/symfony/console/Application.php": false,
		"/app/src/react/x.php": false,
	} {
		if ofEventLoop.MatchString(file) != want {
			t.Error(file)
		}
	}
}
