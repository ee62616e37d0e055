// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

func TestATerminalThatHangsUpLeavesTheRecording(t *testing.T) {
	t.Parallel()
	script := testtargets.NeedProgram(t, "script")
	target := testtargets.Run(t, "c", testtargets.Options{})
	dir := scratch(t, nil)
	file := filepath.Join(dir, "r.pb.gz")
	// Under nohup SIGHUP is ignored, and prywalk would continue.
	terminal := exec.Command("env", "--default-signal=HUP", script, "-q", "-c",
		"exec '"+binary+"' record -p "+strconv.Itoa(target.PID)+" -o '"+file+"'", filepath.Join(dir, "typescript"))
	in, err := terminal.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := terminal.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	eventually(t, "prywalk samples", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(terminal.Process.Pid) + "/task/" +
			strconv.Itoa(terminal.Process.Pid) + "/children")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		fds, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, "/proc/"+strconv.Itoa(target.PID)+"/task/") {
				return true
			}
		}
		return false
	})
	_ = terminal.Process.Kill()
	_ = terminal.Wait()
	eventually(t, "prywalk has ended", func() bool { return stateOf(pid) == "" || stateOf(pid) == "Z" })
	prywalk(t, "report", file).must(t, 0)
	for _, tid := range threadsOf(target.PID) {
		if tracer := tracerOf(tid); tracer != "0" {
			t.Errorf("thread %d is still traced by %s", tid, tracer)
		}
	}
}
