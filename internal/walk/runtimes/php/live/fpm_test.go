// SPDX-License-Identifier: Apache-2.0

package live

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

func startFPM(t *testing.T) (worker int, socket string) {
	t.Helper()
	programs, _ := filepath.Glob("/usr/sbin/php-fpm*")
	testtargets.Need(t, len(programs) > 0, "php-fpm", testtargets.SetUp)
	dir := t.TempDir()
	socket = filepath.Join(dir, "socket")
	config := filepath.Join(dir, "fpm.conf")
	text := fmt.Sprintf("[global]\ndaemonize = no\nerror_log = %s/log\n[www]\nuser = root\ngroup = root\n"+
		"listen = %s\npm = static\npm.max_children = 1\n", dir, socket)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(programs[0], "-n", "-R", "-y", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	children := fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid)
	waitFor(t, "a worker", func() bool {
		b, _ := os.ReadFile(children)
		worker, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return worker != 0
	})
	return worker, socket
}

func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	testtargets.Eventually(t, "there is "+what, so)
}

// Records of FastCGI (specification, 8).
const (
	fcgiBegin  = 1
	fcgiParams = 4
	fcgiStdin  = 5
	responder  = 1
)

func request(t *testing.T, socket, script string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	record := func(kind byte, content []byte) []byte {
		b := binary.BigEndian.AppendUint16([]byte{1, kind, 0, 1}, uint16(len(content)))
		return append(append(b, 0, 0), content...)
	}
	var params []byte
	for _, p := range [][2]string{{"SCRIPT_FILENAME", script}, {"REQUEST_METHOD", "GET"}} {
		params = append(append(append(params, byte(len(p[0])), byte(len(p[1]))), p[0]...), p[1]...)
	}
	b := record(fcgiBegin, []byte{0, responder, 0, 0, 0, 0, 0, 0})
	b = append(append(b, record(fcgiParams, params)...), record(fcgiParams, nil)...)
	if _, err := conn.Write(append(b, record(fcgiStdin, nil)...)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestWorkersOfFPMWaitOrHaveTheirScript(t *testing.T) {
	worker, socket := startFPM(t)
	p := open(t, worker)
	var th *stacks.Thread
	defer func() {
		if t.Failed() {
			t.Logf("the last sample, in %q:\n%s", th.Wait, text(th))
		}
	}()
	waitFor(t, "a worker that waits", func() bool {
		th = sample(t, p, worker)
		return th.Wait == "accept"
	})
	for range 10 {
		th = sample(t, p, worker)
	}
	if th.WaitsFor == nil || th.WaitsFor.Idle != "accept" || len(managedFrames(th)) != 0 {
		t.Errorf("%+v\n%s", th.WaitsFor, text(th))
	}
	script, err := filepath.Abs(filepath.Join("testdata", "slow.php"))
	if err != nil {
		t.Fatal(err)
	}
	request(t, socket, script)
	for _, stopped := range []bool{false, true} {
		if stopped { // the rest of the sleep is restart_syscall
			sampleHow(t, "atomic", worker)
		}
		waitFor(t, "a worker with a script that sleeps", func() bool {
			th = sample(t, p, worker)
			return th.Wait == "clock_nanosleep" || th.Wait == "restart_syscall"
		})
		var got []string
		for _, f := range managedFrames(th) {
			got = append(got, fmt.Sprintf("%s:%d", f.Function, f.Line))
		}
		if s := strings.Join(got, " "); s != "usleep:0 slow:2 {closure}:3 array_map:0 slow.php:3" {
			t.Errorf("%s\n%s", s, text(th))
		}
	}
}
