// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

type recorder struct {
	cmd    *exec.Cmd
	dir    string
	stats  string
	stderr bytes.Buffer
}

func startRecorder(t *testing.T, l *load, args ...string) *recorder {
	t.Helper()
	r := &recorder{dir: t.TempDir()}
	r.stats = filepath.Join(r.dir, "stats.json")
	r.cmd = exec.Command(binary, append([]string{"record", "-p", strconv.Itoa(l.pid), "--rotate", "1s", "-o",
		filepath.Join(r.dir, "r.pb.gz"), "--stats", r.stats}, args...)...)
	r.cmd.Stderr = &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	r.files(t, 1)
	return r
}

func (r *recorder) files(t *testing.T, n int) (list []string) {
	t.Helper()
	eventually(t, strconv.Itoa(n)+" recordings", func() bool {
		var err error
		if list, err = filepath.Glob(filepath.Join(r.dir, "r-*.pb.gz")); err != nil {
			t.Fatal(err)
		}
		return len(list) >= n
	})
	return list
}

func cpu(t *testing.T, files []string) (ns int64, samples int) {
	t.Helper()
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(f)
		_ = f.Close()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i, of := range p.SampleType {
			for _, s := range p.Sample {
				if of.Type == "cpu" {
					ns += s.Value[i]
				}
			}
		}
		samples += len(p.Sample)
	}
	return ns, samples
}

func TestRotatedRecordingsHaveAllTimeOnce(t *testing.T) {
	t.Parallel()
	for _, args := range testtargets.First([][]string{nil, {"--aggregate"}}) {
		l := startLoad(t)
		r := startRecorder(t, l, args...)
		before := l.cpu()
		for n := range 4 {
			l.compute()
			r.files(t, n+2)
		}
		used := l.cpu() - before
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := r.cmd.Wait(); err != nil {
			t.Fatalf("prywalk record: %v: %s", err, &r.stderr)
		}
		files := r.files(t, 5)
		got, samples := cpu(t, files)
		var stats struct {
			Profiled float64 `json:"cpu_profiled_s"`
			Target   float64 `json:"cpu_target_s"`
		}
		text, err := os.ReadFile(r.stats)
		if err == nil {
			err = json.Unmarshal(text, &stats)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got < used || got != int64(stats.Target*1e9+0.5) || got != int64(stats.Profiled*1e9+0.5) || samples == 0 {
			t.Errorf("%v: %d ns in %d files, want cpu_target_s %v and cpu_profiled_s %v, and at least the %d ns charged while "+
				"computing", args, got, len(files), stats.Target, stats.Profiled, used)
		}
	}
}

func TestKilledRotatingRecordingCanBeRead(t *testing.T) {
	t.Parallel()
	l := startLoad(t)
	r := startRecorder(t, l, "--keep", "2")
	other := filepath.Join(r.dir, "r-20000101-000000.pb.gz")
	if err := os.WriteFile(other, []byte("not a recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.compute()
	first := ""
	eventually(t, "the first recording is removed", func() bool {
		list := r.files(t, 2)
		if first == "" {
			first = list[1]
		}
		_, err := os.Stat(first)
		return os.IsNotExist(err)
	})
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	files := r.files(t, 2)
	if files[0] != other || len(files) > 4 {
		t.Errorf("files are %v, want %s and at most three recordings", files, other)
	}
	if _, samples := cpu(t, files[1:]); samples == 0 {
		t.Error("no samples in the recordings")
	}
}
