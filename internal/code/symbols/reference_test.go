// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

type refFrame struct{ name, file, line string }

func llvmFrames(t *testing.T, file string, addrs []uint64) [][]refFrame {
	t.Helper()
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "0x%x\n", a)
	}
	cmd := exec.Command(need(t, "llvm-symbolizer"), "--obj="+file, "--inlines", "--no-demangle", "--functions=linkage")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := bounded.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return parseFrames(t, string(out), len(addrs), func(lines []string) (refFrame, int) {
		pos := strings.Split(lines[1], ":")
		n := len(pos)
		return refFrame{lines[0], strings.Join(pos[:n-2], ":"), pos[n-2]}, 2
	})
}

func parseFrames(t *testing.T, out string, want int, one func([]string) (refFrame, int)) [][]refFrame {
	t.Helper()
	var all [][]refFrame
	for _, part := range strings.Split(strings.TrimRight(out, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(part, "\n"), "\n")
		var fs []refFrame
		for len(lines) >= 2 {
			f, n := one(lines)
			fs = append(fs, f)
			lines = lines[n:]
		}
		all = append(all, fs)
	}
	if len(all) != want {
		t.Fatalf("the tool printed the frames of %d addresses, want %d", len(all), want)
	}
	return all
}

func bfdFrames(t *testing.T, file string, addrs []uint64) [][]refFrame {
	t.Helper()
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "0x%x\n", a)
	}
	cmd := exec.Command(need(t, "addr2line"), "-a", "-f", "-i", "-e", file)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := bounded.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(out), "\n0x", "\n\n0x")
	for i, part := range strings.Split(text, "\n\n") {
		if i == 0 {
			text = ""
		}
		_, rest, _ := strings.Cut(part, "\n")
		text += rest + "\n\n"
	}
	return parseFrames(t, text, len(addrs), func(lines []string) (refFrame, int) {
		pos, _, _ := strings.Cut(lines[1], " (discriminator")
		i := strings.LastIndexByte(pos, ':')
		return refFrame{lines[0], pos[:i], pos[i+1:]}, 2
	})
}
