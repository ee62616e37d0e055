// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// hangVariable makes this test binary the hanging profiler: "PID ADDR OUT".
const hangVariable = "PRYWALK_TEST_HANGS"

// hanging hangs in reads while a thread is stopped, from the twentieth sample on.
type hanging struct {
	ptrace.Wrapped
	addr         uint64
	observations int
	buf          [8]byte
}

func (h *hanging) Regions(regs *frames.Regs, _ *ptrace.Reader, _ []frames.Region) int {
	if h.observations++; h.observations == 20 {
		r := ptrace.NewReader(h.pid(), nil)
		r.Read(h.addr, h.buf[:])
	}
	return 0
}

func (h *hanging) pid() int {
	pid, _ := strconv.Atoi(strings.Fields(os.Getenv(hangVariable))[0])
	return pid
}

func TestHelperThatHangs(t *testing.T) {
	args := strings.SplitN(os.Getenv(hangVariable), " ", 3)
	if len(args) < 3 {
		t.Skip("run by TestALookThatHangsEndsTheRecordingAndLetsTheTargetGo")
	}
	addr, err := strconv.ParseUint(args[1], 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	h := &hanging{addr: addr}
	images := loadedcode.NewImageCache(0)
	b := profile.NewBuilder(profile.Meta{Start: time.Now(), Period: time.Millisecond})
	s := New(target.SamplingOptions{Freq: 99, MaxDepth: 100, Mode: observe.ModeAlwaysStop}, b, images, nil)
	p := target.NewProcess(opened(t, images, []int{h.pid()})[0], false, 0)
	p.SetOtherMemory(h)
	s.control.Admit(p)
	stats, err := s.Run(t.Context())
	fmt.Println("error:", err, errors.Is(err, ErrHung), errors.Is(err, ErrBuilderInUse))
	var out bytes.Buffer
	if err := b.Write(&out, nil); err != nil {
		fmt.Println(err)
	}
	if err := os.WriteFile(args[2], out.Bytes(), 0o600); err != nil {
		fmt.Println(err)
	}
	fmt.Println("stacks:", stats.Stacks)
	os.Exit(0)
}

func TestALookThatHangsEndsTheRecordingAndLetsTheTargetGo(t *testing.T) {
	testtargets.NeedRoot(t, "raise userfaults by other processes' reads")
	exe, err := testtargets.Compile("lazy.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "withheld")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says := testtargets.Ready(t, cmd)
	fmt.Fprintln(in)
	line, err := says.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, file := cmd.Process.Pid, t.TempDir()+"/x.pb.gz"
	profiler := exec.Command(os.Args[0], "-test.run=^TestHelperThatHangs$", "-test.v")
	profiler.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", hangVariable, pid, strings.Fields(line)[1], file))
	kill := time.AfterFunc(time.Minute, func() { _ = profiler.Process.Kill() })
	defer kill.Stop()
	out, err := bounded.AllOutput(profiler)
	if err != nil || !strings.Contains(string(out), "true false") || !strings.Contains(string(out), "process_vm_readv") {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	prof, err := pprof.Parse(f)
	if err != nil || len(prof.Sample) == 0 {
		t.Errorf("the recording: %v", err)
	}
	isLetGo(t, pid)
	_, _ = io.WriteString(in, "\n")
}

func isLetGo(t *testing.T, pid int) {
	t.Helper()
	tids, err := procmem.ListTasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "its threads are let go", func() bool {
		return !slices.ContainsFunc(tids, func(tid int) bool {
			var s procmem.Status
			return procmem.ReadStatus(tid, &s) != nil || s.TracerPid != 0 || s.State == 't'
		})
	})
}
