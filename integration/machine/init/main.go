// SPDX-License-Identifier: Apache-2.0

// Init is the first program of the emulated machine. It mounts file systems, runs the jobs in /jobs one after the
// other, and switches the machine off.
//
// Console lines with its progress: "@@ up", "@@ job NAME", "@@ end NAME STATUS SECONDS", "@@ down".
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getpid() != 1 {
		work()
		return
	}
	// PID 1 reaps all orphans, so it cannot wait for its own children.
	worker := exec.Command("/init")
	worker.Stdin, worker.Stdout, worker.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := worker.Start(); err != nil {
		fmt.Println("@@ failed:", err)
		down()
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err == syscall.ECHILD {
			time.Sleep(100 * time.Millisecond) // there is no orphan
		}
	}
}

func work() {
	fmt.Println("@@ up")
	if err := prepare(); err != nil {
		fmt.Println("@@ failed:", err)
	} else if err := runJobs("/jobs"); err != nil {
		fmt.Println("@@ failed:", err)
	}
	down()
}

func down() {
	fmt.Println("@@ down")
	if err := syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("@@ failed:", err)
	}
}

func prepare() error {
	for _, m := range [][3]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"},
		{"devpts", "/dev/pts"}, {"tmpfs", "/tmp"}} {
		os.MkdirAll(m[1], 0o755)
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m[1], err)
		}
	}
	os.Chmod("/tmp", 0o1777)
	os.Symlink("/proc/self/fd", "/dev/fd")
	os.WriteFile("/proc/sys/kernel/printk", []byte("1"), 0)
	for k, v := range map[string]string{"PATH": "/bin", "HOME": "/tmp", "TMPDIR": "/tmp",
		"PRYWALK_PROGRAMS": "/programs"} {
		os.Setenv(k, v)
	}
	if out, err := exec.Command("/bin/busybox", "--install", "-s", "/bin").CombinedOutput(); err != nil {
		return fmt.Errorf("busybox: %w: %s", err, out)
	}
	if out, err := exec.Command("/bin/ifconfig", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("ifconfig lo up: %w: %s", err, out)
	}
	return nil
}

// Each line is a name, a time limit, a directory, and a command.
func runJobs(list string) error {
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		words := strings.Fields(sc.Text())
		if len(words) < 4 {
			continue
		}
		limit, err := time.ParseDuration(words[1])
		if err != nil {
			return err
		}
		run(words[0], limit, words[2], words[3:])
	}
	return sc.Err()
}

func run(name string, limit time.Duration, dir string, command []string) {
	fmt.Println("@@ job", name)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	cmd.WaitDelay = time.Second
	begin := time.Now()
	err := cmd.Run()
	status := "ok"
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		status = "timeout"
	case errors.As(err, &exit):
		status = strings.ReplaceAll(exit.String(), " ", "-")
	case err != nil:
		status = "not-started"
		fmt.Println(err)
	}
	syscall.Kill(-1, syscall.SIGKILL) // the job's remaining processes; PID 1 and the caller are exempt
	fmt.Printf("\n@@ end %s %s %.1f\n", name, status, time.Since(begin).Seconds())
}
