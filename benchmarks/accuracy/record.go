// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/recordings"
)

type recording struct {
	*profile.Profile
	file  string
	stats struct {
		Stopped        int64            `json:"stopped"`
		ReadPassively  int64            `json:"read_passively"`
		Unchanged      int64            `json:"unchanged"`
		ThreadsMax     int64            `json:"threads_max"`
		FrequencyGot   float64          `json:"frequency_got"`
		FramesByMethod map[string]int64 `json:"frames_by_method"`
		CompleteByHow  map[string]int64 `json:"complete_by_how"`
	}
	began time.Time
}

type recorder struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	r      recording
	stats  string
}

func (b *bench) startRecord(ctx context.Context, pids []int, args ...string) (*recorder, error) {
	f, err := os.CreateTemp(b.dir, "r-*.pb.gz")
	if err != nil {
		return nil, err
	}
	f.Close()
	c := &recorder{r: recording{file: f.Name()}, stats: f.Name() + ".json"}
	args = append([]string{"record", "--engine", "ptrace", "-p", list(pids), "-o", c.r.file, "--stats", c.stats}, args...)
	c.cmd = exec.CommandContext(ctx, b.binary, args...)
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGTERM) }
	c.cmd.WaitDelay = 10 * time.Second
	c.cmd.Stderr = &c.stderr
	c.r.began = time.Now()
	return c, c.cmd.Start()
}

func (c *recorder) finish() (*recording, error) {
	err := c.wait()
	if err != nil {
		return nil, err
	}
	return c.read()
}

func (c *recorder) wait() error {
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("prywalk record: %w: %s", err, strings.TrimSpace(c.stderr.String()))
	}
	return nil
}

func (c *recorder) read() (*recording, error) {
	data, err := os.ReadFile(c.r.file)
	if err != nil {
		return nil, err
	}
	if c.r.Profile, err = profile.ParseData(data); err != nil {
		return nil, err
	}
	if n := len(c.r.SampleType); n != recordings.Columns {
		return nil, fmt.Errorf("%s has %d sample types, not %d", c.r.file, n, recordings.Columns)
	}
	text, err := os.ReadFile(c.stats)
	if err != nil {
		return nil, err
	}
	return &c.r, json.Unmarshal(text, &c.r.stats)
}

func (b *bench) record(ctx context.Context, pids []int, args ...string) (*recording, error) {
	c, err := b.startRecord(ctx, pids, args...)
	if err != nil {
		return nil, err
	}
	return c.finish()
}

func (r *recording) remove() {
	_ = os.Remove(r.file)
	_ = os.Remove(filepath.Clean(r.file + ".json"))
}

func list(pids []int) string {
	var s []string
	for _, pid := range pids {
		s = append(s, strconv.Itoa(pid))
	}
	return strings.Join(s, ",")
}

func (r *recording) total(column int) int64 {
	var sum int64
	for _, s := range r.Sample {
		sum += s.Value[column]
	}
	return sum
}
