package census

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
)

// beginStacks takes up the reading of stacks, or skips the test where it is not to be had.
func beginStacks(t *testing.T) (*Census, *Stacks) {
	t.Helper()
	c := begin(t)
	if c.Stacks() == nil {
		t.Skip("stacks are read one by one here")
	}
	return c, c.Stacks()
}

// read is what a census has read of a thread.
type read struct {
	Record
	Sleep
}

// asleepIn gives what a census shows of a process's sleepers.
func asleepIn(t *testing.T, c *Census, pid int) (all []read) {
	t.Helper()
	if err := c.Take(pid); err != nil {
		t.Fatal(err)
	}
	for i := range c.Len() {
		r := read{Record: c.At(i)}
		if c.Asleep(i, &r.Sleep) {
			all = append(all, r)
		}
	}
	return all
}

// napping starts threads that nap so many milliseconds at a time.
func napping(t *testing.T, threads, milliseconds string) (pid int) {
	t.Helper()
	exe, err := testtargets.Compile("naps.c", "-O2")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, threads, milliseconds, "same")
	_, says := testtargets.Talk(t, cmd)
	if line, err := bufio.NewReader(says).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the target says %q, %v", line, err)
	}
	return cmd.Process.Pid
}

// TestStacksAreWhatMemoryHolds compares the bytes of sleepers with those that are read one by one, for all of them in
// one system call.
func TestStacksAreWhatMemoryHolds(t *testing.T) {
	c, s := beginStacks(t)
	pid := napping(t, strconv.Itoa(MostAsked-1), "3600000")
	for end := time.Now().Add(time.Minute); len(asleepIn(t, c, pid)) < MostAsked; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("they do not sleep")
		}
	}
	all := asleepIn(t, c, pid)
	for i, r := range all {
		if n := s.Ask(r.TID, r.Call.SP, 8*(i+1)); n != i {
			t.Errorf("asked as %d for %d", n, i)
		}
	}
	calls := procmem.Calls()
	s.Read()
	if calls = procmem.Calls() - calls; calls != 1 || s.Asked() != 0 {
		t.Errorf("%d system calls, %d asked for", calls, s.Asked())
	}
	for i, r := range all {
		got, ok := s.Answer(i, &r.Record, &r.Sleep)
		want := make([]byte, 8*(i+1))
		if n, err := procmem.ReadVM(r.TID, r.Call.SP, want); n != len(want) || err != nil {
			t.Fatal(n, err)
		}
		if !ok || !bytes.Equal(got, want) {
			t.Errorf("thread %d: %v, %x, want %x", r.TID, ok, got, want)
		}
		other, in := r.Record, r.Sleep
		other.Runs++
		in.Identity++
		if _, ok := s.Answer(i, &other, &r.Sleep); ok {
			t.Error("answered for one that has run since")
		}
		if _, ok := s.Answer(i, &r.Record, &in); ok {
			t.Error("answered for another thread of that number")
		}
	}
}

// TestStacksOfThoseThatRanAreNotAnswered: threads nap, and are asked for a while after the census. Whoever is answered
// for has the count of the census, read before it and after.
func TestStacksOfThoseThatRanAreNotAnswered(t *testing.T) {
	c, s := beginStacks(t)
	pid := napping(t, "30", "4")
	same, ran := 0, 0
	for end := time.Now().Add(time.Minute); (same < 100 || ran < 100) && time.Now().Before(end); {
		all := asleepIn(t, c, pid)
		all = all[:min(len(all), MostAsked)]
		for _, r := range all {
			s.Ask(r.TID, r.Call.SP, 64)
		}
		time.Sleep(2 * time.Millisecond)
		before := map[int]uint64{}
		for _, r := range all {
			sched, _ := procmem.OpenThread(pid, r.TID, nil).SchedStat()
			before[r.TID] = sched.Runs
		}
		s.Read()
		for i, r := range all {
			switch _, ok := s.Answer(i, &r.Record, &r.Sleep); {
			case ok && before[r.TID] != r.Runs:
				t.Fatalf("thread %d arrived %d times, and %d by the census", r.TID, before[r.TID], r.Runs)
			case ok:
				same++
			default:
				ran++
			}
		}
	}
	if same < 100 || ran < 100 {
		t.Errorf("%d slept on, %d ran", same, ran)
	}
}

// TestWhatIsNotThereIsNotAnswered: memory that is not mapped, a thread that is not there, and too much.
func TestWhatIsNotThereIsNotAnswered(t *testing.T) {
	c, s := beginStacks(t)
	pid := napping(t, "1", "3600000")
	all := asleepIn(t, c, pid)
	if len(all) == 0 {
		t.Skip("nobody sleeps yet")
	}
	r := all[0]
	nobody := r
	nobody.TID = 1 << 22
	s.Ask(r.TID, 8, 8)
	s.Ask(nobody.TID, r.Call.SP, 8)
	s.Ask(r.TID, r.Call.SP, MostWords+1)
	s.Ask(r.TID, 1<<63, 8)
	s.Ask(r.TID, r.Call.SP, 0)
	s.Read()
	for i, of := range []*read{&r, &nobody, &r, &r} {
		if _, ok := s.Answer(i, &of.Record, &of.Sleep); ok {
			t.Errorf("question %d is answered", i)
		}
	}
	if _, ok := s.Answer(4, &r.Record, &r.Sleep); !ok {
		t.Error("no answer for no bytes")
	}
}

// TestStacksRaiseNoUserfault: memory that the target provides itself is not asked for, and is not waited for.
func TestStacksRaiseNoUserfault(t *testing.T) {
	_, s := beginStacks(t)
	exe, err := testtargets.Compile("lazy.c", "-O1", "-pthread")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "running")
	in, says := testtargets.Talk(t, cmd)
	lines := bufio.NewReader(says)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Skipf("the target says %q, %v", line, err)
	}
	asked := func() (n, at uint64) {
		t.Helper()
		fmt.Fprintln(in)
		line, err := lines.ReadString('\n')
		if err == nil {
			_, err = fmt.Sscanf(line, "%d 0x%x", &n, &at)
		}
		if err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		return n, at
	}
	answered := func(at uint64) bool {
		s.Ask(cmd.Process.Pid, at, 8)
		s.Read()
		return s.ask(0)[askAnswered] == 1
	}
	before, at := asked()
	if answered(at) {
		t.Error("memory that nobody has provided is read")
	}
	if n, _ := asked(); n != before {
		t.Errorf("the target was asked %d times", n-before)
	}
	if _, err := procmem.ReadVM(cmd.Process.Pid, at, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if n, _ := asked(); n != before+1 {
		t.Errorf("a read that waits has asked the target %d times: the test shows nothing", n-before)
	}
	if !answered(at) {
		t.Error("memory that is there is not read")
	}
}

// TestIdentityIsOfOneThreadInOneProgram: a process runs another program, and a number is given to another process.
func TestIdentityIsOfOneThreadInOneProgram(t *testing.T) {
	c := begin(t)
	if !c.TellsSleeps() {
		t.Skip("a census tells nothing of sleeps here")
	}
	cmd := exec.Command("sh", "-c", "read x; exec sleep 1000")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	first := identity(t, c, pid, "sh")
	if again := identity(t, c, pid, "sh"); again != first {
		t.Errorf("%x, then %x", first, again)
	}
	_ = in.Close()
	second := identity(t, c, pid, "sleep")
	if second <= first {
		t.Errorf("%x, and as another program %x", first, second)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for range 20 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Skip(err)
		}
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		got := cmd.Process.Pid
		var third uint64
		if got == pid {
			third = identity(t, c, pid, "sleep")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if got == pid {
			if third <= second {
				t.Errorf("%x, and of another process %x", second, third)
			}
			return
		}
	}
	t.Skip("the number was taken each time")
}

// identity gives that of a process with one thread, once that sleeps in the program of this name.
func identity(t *testing.T, c *Census, pid int, program string) uint64 {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if all := asleepIn(t, c, pid); len(all) == 1 && string(comm) == program+"\n" {
			return all[0].Identity
		}
	}
	t.Fatalf("%s does not sleep", program)
	return 0
}
