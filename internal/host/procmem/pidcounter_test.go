// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

func TestPIDCounterAdvancesAtEachNewProcess(t *testing.T) {
	b, err := OpenPIDCounter()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for range 3 {
		if err := bounded.Run(exec.Command(os.Args[0], "-test.run=^$")); err != nil {
			t.Fatal(err)
		}
		if !b.Advanced() {
			t.Error("Advanced is false after a new process")
		}
		if b.Last() <= 0 {
			t.Errorf("the last PID is %d, want more than 0", b.Last())
		}
	}
	if n := testing.AllocsPerRun(10, func() { b.Advanced() }); n != 0 {
		t.Errorf("%.0f allocations, want 0", n)
	}
}

func TestNewestThreadsAreListedLast(t *testing.T) {
	stay := make(chan bool)
	defer close(stay)
	for range 20 {
		began := make(chan bool)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			close(began)
			<-stay
		}()
		bounded.Receive(t, "a thread begins", began)
	}
	d, err := OpenTasks(os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for try := 0; ; try++ {
		all, err := d.List(nil)
		if err != nil || len(all) < 20 {
			t.Fatalf("threads %v, error %v", all, err)
		}
		wrong := 0
		for _, n := range []int{-1, 0, 1, 7, len(all) - 1, len(all), len(all) + 5} {
			got, err := d.ListFrom(n, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, all[min(max(n, 0), len(all)):]) {
				wrong++
			}
		}
		if wrong == 0 {
			return
		}
		if try == 100 {
			t.Fatalf("%d of 100 lists were not the end of %v", wrong, all)
		}
	}
}

func TestSwitchesAreVoluntaryAndInvoluntaryOnes(t *testing.T) {
	const text = "State:\tR (running)\nTgid:\t7\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n"
	var s Status
	if err := ParseStatus([]byte(text), &s); err != nil || s.Switches != 42 {
		t.Errorf("%d switches, %v", s.Switches, err)
	}
}
