// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// BuildPrywalk compiles prywalk without cgo, from its module or benchmarks.
func BuildPrywalk(file string) error {
	dir, err := exec.Command("go", "list", "-f", "{{.Module.Dir}}", "prywalk/internal/testtargets").Output()
	if err != nil {
		return fmt.Errorf("finding prywalk's module: %w", err)
	}
	build := exec.Command("go", "build", "-C", strings.TrimSpace(string(dir)), "-trimpath", "-o", file, "./cmd/prywalk")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building prywalk: %w\n%s", err, out)
	}
	return nil
}
