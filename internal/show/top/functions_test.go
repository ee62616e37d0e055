// SPDX-License-Identifier: Apache-2.0

package top

import (
	"testing"

	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
)

func TestTheProgramsFunctionsComeBeforeItsLibraries(t *testing.T) {
	const python = "[CPython 3.11.7]"
	snap := &Snapshot{}
	var rows []FunctionRow
	for i, f := range []view.Frame{
		view.FrameOf("Condition.wait", python, "/usr/lib/python3.11/threading.py"),
		view.FrameOf("Queue.get", python, "/usr/lib/python3.11/queue.py"),
		view.FrameOf("fetch_answer", python, "/srv/shop.py"),
	} {
		snap.frames = append(snap.frames, Frame{Frame: f})
		rows = append(rows, FunctionRow{Frame: Frame{Frame: f}, id: int32(i), depth: float64(i)})
	}
	if f := snap.programFunction([]int32{0, 1, 2}); f != 2 {
		t.Errorf("%s stands for the stack", snap.frames[f].Name)
	}
	sortFunctions(rows, CPU)
	if rows[0].Name != "fetch_answer" {
		t.Errorf("%s is first", rows[0].Name)
	}
}

func TestAnUnnamedProgramComesBeforeTheKernel(t *testing.T) {
	snap := &Snapshot{}
	for _, f := range []view.Frame{
		view.FrameOf("hrtimer_nanosleep", view.KernelModule, ""),
		view.FrameOf("", "/usr/bin/sleep", ""),
		view.FrameOf("__libc_start_main_impl", "/usr/lib/libc.so.6", "../csu/libc-start.c"),
	} {
		snap.frames = append(snap.frames, Frame{Frame: f})
	}
	if f := snap.programFunction([]int32{0, 1, 2}); f != 1 {
		t.Errorf("%s stands for the stack", snap.frames[f].DisplayName())
	}
}

func TestKnownFunctionsAreNotMadeAgain(t *testing.T) {
	table := NewFunctionTable(nil)
	l := &profile.Named{Loc: profile.Loc{Module: &profile.ModuleInfo{Path: "[HotSpot 17.0.15]"}},
		Frames: []profile.Frame{{Name: "com.shop.Cart.total", File: "Cart.java"}, {Name: "com.shop.Shop.buy"}}}
	numbers := table.appendFrames(l, nil)
	if n := testing.AllocsPerRun(10, func() { numbers = table.appendFrames(l, numbers[:0]) }); n != 0 {
		t.Errorf("%v allocations for known functions, want 0", n)
	}
	if len(numbers) != 2 || len(table.frames) != 2 {
		t.Errorf("%d functions, %d in the table; want 2", len(numbers), len(table.frames))
	}
}
