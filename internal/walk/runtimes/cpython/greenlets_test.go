// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// greenletImage is a process of CPython 3.12 with a greenlet that waits in leaf, called by run, and one that runs.
type greenletImage struct {
	image
	generations uint64
}

const (
	imageAt     = 1 << 32
	interpOf    = imageAt + 0x1000
	baseType    = imageAt + 0x3000
	derivedType = imageAt + 0x3400
	frameTypeAt = imageAt + 0x3800
	codeTypeAt  = imageAt + 0x3900
	waitingAt   = imageAt + 0x2010
	runningAt   = imageAt + 0x2110
	pimplAt     = imageAt + 0x2800
	innerObject = imageAt + 0x4000
	outerObject = imageAt + 0x4200
	outerFrame  = outerObject + 0x100
	topInPimpl  = 104
)

func (g *greenletImage) put(addr, v uint64) { binary.LittleEndian.PutUint64(g.bytes[addr-g.at:], v) }

func (g *greenletImage) putText(addr uint64, text string) {
	g.put(addr+textLength, uint64(len(text)))
	g.put(addr+textState, 1<<2|1<<5|1<<6)
	copy(g.bytes[addr-g.at+40:], text)
}

func (g *greenletImage) putRing(head uint64, members ...uint64) {
	all := append([]uint64{head}, members...)
	for i, at := range all {
		next := all[(i+1)%len(all)]
		g.put(at+gcNext, next)
		g.put(next+gcPrev, at)
	}
}

func (g *greenletImage) putFrame(object, previous uint64, code uint64, name string) {
	frame := object + 0x100
	g.put(object+objectType, frameTypeAt)
	g.put(object+frameObjectFrame, frame)
	l := layouts[12]
	g.put(frame, code)
	g.put(frame+uint64(l.framePrev), previous)
	g.put(frame+frameOfObject, object)
	g.put(frame+uint64(l.frameInstr), code+uint64(l.codeBytecode))
	g.put(code, 1)
	g.put(code+objectType, codeTypeAt)
	g.put(code+uint64(l.codeVersion)&^7, 1<<32|1)
	g.put(code+uint64(l.codeFirstLine)&^7, 10<<32)
	g.put(code+uint64(l.codeName), code+0x200)
	g.put(code+uint64(l.codeQualname), code+0x200)
	g.put(code+uint64(l.codeFile), code+0x300)
	g.put(code+uint64(l.codeLineTable), code+0x400)
	g.putText(code+0x200, name)
	g.putText(code+0x300, "app.py")
	g.put(code+0x400+bytesSize, 2)
	g.put(code+0x400+bytesContent, 0x04<<8|0xe8) // line 2 after the first one
}

func newGreenletImage(shift uint64) *greenletImage {
	g := &greenletImage{image{imageAt, make([]byte, 0x8000)}, interpOf + 0x100 + shift}
	g.put(imageAt+uint64(layouts[12].runtimeInterps), interpOf)
	g.putRing(g.generations, waitingAt-gcHead, runningAt-gcHead)
	g.putRing(g.generations + gcGeneration)
	g.putRing(g.generations + 2*gcGeneration)
	g.putRing(g.generations + 3*gcGeneration + 8)
	for _, at := range []uint64{waitingAt, runningAt} {
		g.put(at, 1)
		g.put(at+objectType, derivedType)
	}
	g.put(derivedType+typeBaseClass, baseType)
	g.put(derivedType+typeNameAddr, derivedType+0x200)
	copy(g.bytes[derivedType+0x200-imageAt:], "gevent.Greenlet\x00")
	g.put(waitingAt+greenletPimpl, pimplAt)
	g.put(runningAt+greenletPimpl, pimplAt+0x400)
	g.put(pimplAt+topInPimpl, innerObject)
	g.putFrame(innerObject, outerFrame, imageAt+0x5000, "leaf")
	g.putFrame(outerObject, 0, imageAt+0x6000, "run")
	return g
}

func (g *greenletImage) reader() *taskReader {
	in := &interpreter{layout: layouts[12], host: g, at: imageAt}
	in.frameType, in.codeType = frameTypeAt, codeTypeAt
	r := newParts(in)
	t := &taskReader{r: in, o: r.python.objects(), threads: r.threads, codes: &r.codes, watch: still{}}
	t.greenlets = greenlets{base: baseType, inPimpl: true, types: map[uint64]bool{}}
	r.codes.view.Begin(&managed.Sample{Mem: &frames.Snapshot{}, Live: managed.TaskMemory{Reader: in.host}})
	return t
}

func TestSuspendedGreenletsAreFoundAmongTrackedObjects(t *testing.T) {
	for _, shift := range []uint64{0, gcAlignment} {
		list := newGreenletImage(shift).reader().list()
		want := []managed.Task{{Name: "Greenlet", Family: "greenlet", ID: waitingAt, Wait: "greenlet.switch",
			Undisturbed: true,
			Frames: []managed.Frame{{Function: "leaf", File: "app.py", Line: 12, StartLine: 10},
				{Function: "run", File: "app.py", Line: 12, StartLine: 10}}}}
		if !reflect.DeepEqual(list.Tasks, want) || list.Unlisted+list.Unproven+list.Changed != 0 {
			t.Errorf("shifted by %d: %+v", shift, list)
		}
	}
}

func TestGreenletsThatAreNotProvenAreCounted(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*greenletImage)
		want   managed.TaskList
	}{
		"a frame that no frame object leads to": {
			func(g *greenletImage) { g.put(outerFrame+frameOfObject, 0) }, managed.TaskList{Unproven: 1}},
		"a frame that leads to itself": {
			func(g *greenletImage) { g.put(outerFrame+uint64(layouts[12].framePrev), outerFrame) },
			managed.TaskList{Unproven: 1}},
		"a frame without code": {func(g *greenletImage) { g.put(outerFrame, 0) }, managed.TaskList{}},
		"a ring that is being changed": {
			func(g *greenletImage) { g.put(waitingAt-gcHead+gcPrev, 0); g.put(pimplAt+topInPimpl, 0) },
			managed.TaskList{Unlisted: 1}},
	} {
		g := newGreenletImage(0)
		c.change(g)
		list := g.reader().list()
		list.Changed = 0
		if !reflect.DeepEqual(list, c.want) {
			t.Errorf("%s: %+v", what, list)
		}
	}
}

func TestWaitsOfGreenletsAreNamedByTheLibrarysFunction(t *testing.T) {
	for want, files := range map[string][]string{
		"gevent.f0":       {"/v/gevent/hub.py", "/app/gevent.py"},
		"gevent.f1":       {"/v/gevent/_a.py", "/v/gevent/queue.py", "/v/gevent/greenlet.py"},
		"eventlet.f2":     {"/v/eventlet/hubs/hub.py", "/v/eventlet/green/os.py", "/v/eventlet/queue.py", "/app/a.py"},
		"greenlet.switch": {"/app/a.py", "/v/gevent/hub.py"},
	} {
		var stack []managed.Frame
		for i, file := range files {
			stack = append(stack, managed.Frame{Function: "f" + string(rune('0'+i)), File: file})
		}
		if got := greenletWait(stack); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func FuzzGreenlets(f *testing.F) {
	g := newGreenletImage(0)
	f.Add(g.bytes, uint8(12))
	self := slices.Clone(g.bytes)
	for i := 0; i < len(self); i += 8 {
		binary.LittleEndian.PutUint64(self[i:], imageAt)
	}
	f.Add(self, uint8(8))
	f.Fuzz(func(_ *testing.T, b []byte, minor uint8) {
		t := (&greenletImage{image: image{imageAt, b}}).reader()
		t.r.layout, t.r.size = layouts[8+int(minor)%5], uint64(len(b))
		t.list()
		for _, at := range []uint64{imageAt, waitingAt, innerObject} {
			t.readOnce(at)
			t.suspended(at)
			t.readGreenlet(at)
			t.reads(&managed.Frame{Function: "StreamReader._wait_for_data", File: "asyncio/streams.py"}, at)
		}
	})
}
