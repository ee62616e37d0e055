// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestTreeFindsGrandchildren(t *testing.T) {
	c := exec.Command("sh", "-c", "(sleep 1000 & sleep 1000 & wait) & wait")
	testtargets.Child(t, c)
	pid := c.Process.Pid
	var tree []int
	testtargets.Eventually(t, "three descendants", func() bool {
		tree = defaultProc.tree(pid)
		return len(tree) == 3
	})
	t.Cleanup(func() {
		for _, kid := range tree {
			_ = bounded.Run(exec.Command("kill", "-9", strconv.Itoa(kid)))
		}
	})
	kids := Children(pid)
	if len(kids) != 1 || kids[0] != tree[0] {
		t.Errorf("children %v, want the first of %v", kids, tree)
	}
	byParent := defaultProc.childrenByParent()
	if got := byParent[pid]; !slices.Equal(got, kids) {
		t.Errorf("children by parent %v, want the listed %v", got, kids)
	}
	if got := byParent[tree[0]]; !slices.Equal(slices.Sorted(slices.Values(got)), tree[1:]) {
		t.Errorf("grandchildren by parent %v, want those of the tree %v", got, tree)
	}
}

func TestLongListsOfChildrenAreReadToTheEnd(t *testing.T) {
	root := t.TempDir()
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "%d ", 10_000+i)
	}
	for tid, text := range map[string]string{"7": long.String(), "8": "99 ", "9": ""} {
		dir := filepath.Join(root, "7", "task", tid)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "children"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kids := procRoot(root).children(7)
	if len(kids) != 3001 || kids[0] != 99 || kids[3000] != 12_999 {
		t.Errorf("%d children, want 3001 from 99 to 12999", len(kids))
	}
}

func TestThreadsAreListed(t *testing.T) {
	c := child(t, "python3", "-c", `
import threading, time
for i in range(20): threading.Thread(target=time.sleep, args=(1000,)).start()
time.sleep(1000)`)
	p := open(t, c.Process.Pid)
	var tids []int
	testtargets.Eventually(t, "21 threads", func() bool {
		var err error
		if tids, err = p.Threads(tids); err != nil {
			t.Fatal(err)
		}
		return len(tids) == 21
	})
	if tids[0] != p.PID || !strings.HasPrefix(p.ThreadName(tids[3]), "python") && p.ThreadName(tids[3]) == "" {
		t.Errorf("threads %v, the fourth named %q; want the first %d, and a name", tids, p.ThreadName(tids[3]), p.PID)
	}
	if n := testing.AllocsPerRun(10, func() { tids, _ = p.Threads(tids) }); n > 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestSystemCallsHaveNames(t *testing.T) {
	for _, c := range []struct {
		arch frames.Arch
		nr   int64
		want string
	}{
		{frames.X86_64, 0, "read"}, {frames.X86_64, 232, "epoll_wait"}, {frames.X86_64, 202, "futex"},
		{frames.ARM64, 22, "epoll_pwait"}, {frames.ARM64, 98, "futex"}, {frames.ARM64, 441, "epoll_pwait2"},
		{frames.X86_64, 99999, "syscall_99999"}, {frames.X86_64, 400, "syscall_400"}, {frames.X86_64, -1, ""},
	} {
		if got := SyscallName(c.arch, c.nr); got != c.want {
			t.Errorf("call %d of %v: %q, want %q", c.nr, c.arch, got, c.want)
		}
	}
}

func TestResumedCallsAreKnownByWhereTheyWait(t *testing.T) {
	for _, c := range []struct {
		first       uint64
		wchan, want string
	}{
		{0x7fffecd31fe0, "futex_do_wait", "futex"}, {0x7fffecd31fe0, "poll_schedule_timeout.constprop.0\n", "poll"},
		{0x7fffecd31fe0, "do_sys_poll", "poll"}, {0x7fffecd31fe0, "hrtimer_nanosleep", "nanosleep"},
		{0, "do_syscall_64", "clock_nanosleep"}, {1, "", ""}, {1, "0", ""},
	} {
		if got := ResumedCall(c.first, []byte(c.wchan)); got != c.want {
			t.Errorf("first argument %#x, wchan %q: %q, want %q", c.first, c.wchan, got, c.want)
		}
	}
}

func TestWaitLabelsNameTheCallOrKernelFunction(t *testing.T) {
	for _, c := range []struct {
		nr    int64
		wchan string
		want  string
	}{
		{232, "ep_poll", "epoll_wait"}, {-1, "", ""}, {-1, "folio_wait_bit_common", "page fault"},
		{-1, "handle_userfault", "userfault"}, {-1, "futex_wait_queue\n", "futex_wait_queue"}, {-1, "0", ""},
	} {
		if got := WaitLabel(frames.X86_64, c.nr, []byte(c.wchan)); got != c.want {
			t.Errorf("call %d, wchan %q: label %q, want %q", c.nr, c.wchan, got, c.want)
		}
	}
}
