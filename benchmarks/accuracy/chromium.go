// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/internal/testtargets"
)

type chromium struct {
	cmd      *exec.Cmd
	pid      int
	renderer int
}

const animation = `<!doctype html><title>work</title><canvas id=c width=400 height=300></canvas><script>
const g = document.getElementById('c').getContext('2d');
function draw(t) {
	for (let i = 0; i < 300; i++) {
		g.fillStyle = 'hsl(' + (t / 10 + i) % 360 + ' 80% 50%)';
		g.fillRect(200 + 150 * Math.sin(t / 500 + i), 150 + 100 * Math.cos(t / 700 + i), 8, 8);
	}
	requestAnimationFrame(draw);
}
requestAnimationFrame(draw);
</script>
`

//go:embed page.html
var work string

// browserAtWork starts a browser as an ordinary user if sandboxed, else as root with --no-sandbox: a browser refuses
// root with its sandbox.
func (b *bench) browserAtWork(ctx context.Context, sandboxed bool) (*chromium, error) {
	flags := []string{"--use-angle=swiftshader", "--enable-unsafe-swiftshader"}
	if !sandboxed {
		return launchChromium(ctx, b.dir, work, nil, append(flags, "--no-sandbox")...)
	}
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return nil, err
	}
	return launchChromium(ctx, b.dir, work, testtargets.Nobody, flags...)
}

func startChromium(ctx context.Context, dir string) (*chromium, error) {
	return launchChromium(ctx, dir, animation, nil, "--no-sandbox", "--disable-gpu")
}

func launchChromium(ctx context.Context, dir, text string, user *testtargets.User, flags ...string) (*chromium, error) {
	data, err := os.MkdirTemp(dir, "chromium-")
	if err != nil {
		return nil, err
	}
	page := filepath.Join(data, "page.html")
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		return nil, err
	}
	exe, err := browser()
	if err != nil {
		return nil, err
	}
	c := &chromium{cmd: exec.CommandContext(ctx, exe, append(flags,
		"--headless", "--disable-quic", "--no-first-run", "--no-proxy-server",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--disable-default-apps", "--metrics-recording-only", "--remote-debugging-port=0",
		"--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+data, "file://"+page)...)}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if user != nil {
		c.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
		c.cmd.Env = append(os.Environ(), "HOME="+data)
		if err := os.Chown(data, int(user.UID), int(user.GID)); err != nil {
			return nil, err
		}
	}
	c.cmd.Cancel = c.kill
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.pid = c.cmd.Process.Pid
	for end := time.Now().Add(20 * time.Second); c.renderer == 0; pause(ctx, 50*time.Millisecond) {
		c.findRenderer()
		if time.Now().After(end) || ctx.Err() != nil {
			c.stop()
			return nil, errors.New("chromium started no renderer within 20 s")
		}
	}
	pause(ctx, 3*time.Second)
	return c, ctx.Err()
}

func browser() (string, error) {
	for _, path := range []string{"/usr/lib/chromium/chromium", "/usr/lib64/chromium-browser/chromium-browser",
		"/opt/google/chrome/chrome"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed")
}

func (c *chromium) findRenderer() {
	var most time.Duration
	for _, pid := range c.pids() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !strings.Contains(string(line), "--type=renderer") {
			continue
		}
		if cpu := processClock(pid); c.renderer == 0 || cpu > most {
			c.renderer, most = pid, cpu
		}
	}
}

func (c *chromium) pids() []int {
	all := []int{c.cmd.Process.Pid}
	for i := 0; i < len(all); i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all
}

func (c *chromium) kill() error { return syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

func (c *chromium) stop() {
	left := c.pids()
	_ = c.kill()
	_ = c.cmd.Wait()
	for _, pid := range left[1:] {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), "chrom") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
