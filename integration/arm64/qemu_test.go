// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

type result struct {
	status  string // empty if it did not end
	seconds string
	output  []string
}

type console struct {
	jobs  map[string]*result
	all   []string
	files map[string]*strings.Builder
	rest  []string
	up    bool
	down  bool
}

func (c *console) write(t *testing.T, file string) {
	t.Helper()
	if file == "" {
		return
	}
	if err := os.WriteFile(file, []byte(strings.Join(c.all, "\n")+"\n"), 0o644); err != nil {
		t.Error(err)
	}
}

func boot(t *testing.T, limit time.Duration, kernel, initrd, cpu string) *console {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-aarch64", "-machine", "virt", "-cpu", cpu, "-smp", "2", "-m", "1536",
		"-kernel", kernel, "-initrd", initrd, "-append", "console=ttyAMA0 quiet panic=-1 rdinit=/init",
		"-display", "none", "-monitor", "none", "-serial", "stdio", "-nic", "none", "-no-reboot")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatalf("qemu (package qemu-system-arm): %v", err)
	}
	c := listen(out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("qemu: %v %v\n%s", err, ctx.Err(), errs.String())
	}
	return c
}

func (c *console) piece(name, text string) {
	if c.files[name] == nil {
		c.files[name] = &strings.Builder{}
	}
	c.files[name].WriteString(text)
}

func (c *console) file(t *testing.T, name string) []byte {
	t.Helper()
	text := c.files[name]
	if text == nil {
		t.Fatalf("the machine did not send the file %s", name)
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text.String())))
	if err != nil {
		t.Fatalf("file %s: %v", name, err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("file %s: %v", name, err)
	}
	return b
}

func listen(r io.Reader) *console {
	c := &console{jobs: map[string]*result{}, files: map[string]*strings.Builder{}}
	var cur *result
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := strings.TrimRight(sc.Text(), "\r")
		words := strings.Fields(line)
		if len(words) == 4 && words[0] == "@@" && words[1] == "file" {
			c.piece(words[2], words[3])
			continue
		}
		c.all = append(c.all, line)
		if len(words) < 2 || words[0] != "@@" {
			if cur != nil {
				cur.output = append(cur.output, line)
			} else {
				c.rest = append(c.rest, line)
			}
			continue
		}
		switch {
		case words[1] == "up":
			c.up = true
		case words[1] == "down":
			c.down = true
		case words[1] == "job" && len(words) == 3:
			cur = &result{}
			c.jobs[words[2]] = cur
		case words[1] == "end" && len(words) == 5 && c.jobs[words[2]] == cur && cur != nil:
			cur.status, cur.seconds = words[3], words[4]
			cur = nil
		default:
			c.rest = append(c.rest, line)
		}
	}
	return c
}
