// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"prywalk/internal/testtargets/bounded"
)

// builtPrywalk is the variable by which make test gives all packages the program that it has compiled.
const builtPrywalk = "PRYWALK_BUILT"

// BuildPrywalk compiles prywalk without cgo, from its module or benchmarks. The packages of a run of tests share one
// program: go build links no program that is up to date.
func BuildPrywalk(file string) error {
	if built := os.Getenv(builtPrywalk); built != "" {
		return copyExecutable(built, file)
	}
	dir, err := bounded.Output(exec.Command("go", "list", "-f", "{{.Module.Dir}}", "prywalk/internal/testtargets"))
	if err != nil {
		return fmt.Errorf("finding prywalk's module: %w", err)
	}
	if err := os.MkdirAll(cacheDir(), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(cacheDir(), "prywalk.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", lock.Name(), err)
	}
	shared := filepath.Join(cacheDir(), "prywalk")
	build := exec.Command("go", "build", "-C", strings.TrimSpace(string(dir)), "-trimpath", "-o", shared, "./cmd/prywalk")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := bounded.AllOutput(build); err != nil {
		return fmt.Errorf("building prywalk: %w\n%s", err, out)
	}
	return copyExecutable(shared, file)
}

func copyExecutable(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return WriteExecutable(to, text)
}
