// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"prywalk/benchmarks/overhead/load"
)

var toolNames = []string{"prywalk", "async-cpu", "async-itimer", "async-wall", "jfr"}

type tool struct {
	name    string
	pid     int
	dir     string
	windows int
	ratios  []float64 // orders per second, with the tool ÷ without
	each    []float64
	without load.Histogram
	with    load.Histogram
	truth   [len(stages)]float64
	cpu     time.Duration
	memory  float64 // peak resident size, 10^6 bytes
	stacks  stacks
}

func newTool(name string, pid int, dir string) *tool {
	return &tool{name: name, pid: pid, dir: dir, stacks: newStacks()}
}

func (t *tool) measure(ctx context.Context, s *shop) (w stretch, err error) {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return w, err
	}
	t.windows++
	file := filepath.Join(t.dir, strconv.Itoa(t.windows))
	off, err := t.on(ctx, file)
	if err != nil {
		return w, err
	}
	err = pause(ctx, settle)
	if err == nil {
		w, err = s.window(ctx)
	}
	if stopped := off(); err == nil {
		err = stopped
	}
	if err != nil {
		return w, err
	}
	for i := range stages {
		t.truth[i] += w.used[i]
	}
	t.with.Add(w.waits)
	return w, t.read(ctx, file)
}

func (t *tool) on(ctx context.Context, file string) (off func() error, err error) {
	period := time.Second / time.Duration(*freq)
	switch t.name {
	case "prywalk":
		return t.record(ctx, file)
	case "jfr":
		settings := file + ".jfc"
		text := fmt.Sprintf(onlySamples, period.Milliseconds())
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			return nil, err
		}
		err := t.jcmd(ctx, "JFR.start", "name=shop", "settings="+settings)
		return func() error { return t.jcmd(ctx, "JFR.stop", "name=shop", "filename="+file) }, err
	}
	event := strings.TrimPrefix(t.name, "async-")
	library, err := filepath.Abs(filepath.Join(*loadDir, "libasyncProfiler.so"))
	if err != nil {
		return nil, err
	}
	tell := func(orders string) error {
		return t.jcmd(ctx, "JVMTI.agent_load", library, `"`+orders+`"`)
	}
	err = tell(fmt.Sprintf("start,event=%s,interval=%d,threads", event, period.Nanoseconds()))
	return func() error { return tell("stop,collapsed,threads,ann,file=" + file) }, err
}

const onlySamples = `<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0"><event name="jdk.ExecutionSample">
<setting name="enabled">true</setting><setting name="period">%d ms</setting>
</event></configuration>
`

func (t *tool) record(ctx context.Context, file string) (off func() error, err error) {
	cmd := exec.CommandContext(ctx, *binary, "record", "-p", strconv.Itoa(t.pid), "-F", strconv.Itoa(*freq), "--aggregate",
		"-o", file)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return err
		}
		t.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.memory = max(t.memory, resident(cmd))
		return nil
	}, nil
}

func (t *tool) jcmd(ctx context.Context, orders ...string) error {
	cmd := exec.CommandContext(ctx, "jcmd", append([]string{strconv.Itoa(t.pid)}, orders...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("jcmd %v: %w: %s", orders, err, out)
	}
	if orders[0] == "JVMTI.agent_load" && !strings.Contains(string(out), "return code: 0") {
		return fmt.Errorf("jcmd %v: %s", orders, out)
	}
	return nil
}

func (t *tool) read(ctx context.Context, file string) error {
	switch t.name {
	case "prywalk":
		return t.stacks.readProfile(file)
	case "jfr":
		dir := filepath.Dir(t.dir)
		out, err := exec.CommandContext(ctx, *java, "-cp", dir, "Stacks", file).Output()
		if err != nil {
			return err
		}
		t.stacks.readFolded(string(out))
		return nil
	}
	text, err := os.ReadFile(file)
	t.stacks.readFolded(string(text))
	return err
}
