package differential

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// tool is the prywalk under test.
var tool string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "prywalk-differential-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	tool = filepath.Join(dir, "prywalk")
	build := exec.Command("go", "build", "-o", tool, "../../cmd/prywalk")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ../../cmd/prywalk: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
