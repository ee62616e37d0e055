// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
)

// The kernel's name is the executable's for all threads.
func TestThreadsOfPythonHaveOneName(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(scratch(t, nil), "spin.py")
	text := "import threading\ndef spin():\n    while True:\n        sum(range(1000))\n" +
		"threading.Thread(target=spin, name='counts the orders').start()\nspin()\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	pid := shell(t, "exec "+python+" "+file)
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	eventually(t, "both threads run", func() bool {
		list, err := os.ReadDir(tasks)
		return err == nil && len(list) == 2
	})
	r := recordUntil(t, "200 samples of spin", func(p *profile.Profile) bool { return countOf(p, "spin") >= 200 }, "-p",
		strconv.Itoa(pid))
	names := map[string]int64{}
	for _, s := range r.Sample {
		names[label(s, "thread")] += s.Value[0]
	}
	if len(names) != 2 || names["MainThread"] == 0 || names["counts the orders"] == 0 {
		t.Errorf("samples by thread are %v, want MainThread and \"counts the orders\"", names)
	}
}
