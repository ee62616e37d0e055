// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"

	"prywalk/integration/machine"
)

const (
	javaOnly    = "ARM64_JAVA_ONLY"
	javaSamples = "ARM64_JAVA_SAMPLES"
)

const fewSamples = "300"

// A JVM takes some 20 s to start in the machine, and as long to compile.
const javaLimit = 8 * time.Minute

func TestJavaInAnEmulatedMachine(t *testing.T) {
	from := os.Getenv(fetched)
	needFetched(t, from)
	home := filepath.Join(from, "java")
	_, err := os.Stat(filepath.Join(home, "bin/java"))
	testtargets.Need(t, err == nil, "a Java runtime for arm64 in "+home, "scripts/arm64/fetch.sh")
	machine.NeedTime(t, 1, remedy)
	b := machine.NewBuilder(t, "arm64", filepath.Join(from, "busybox"))
	for _, dir := range []string{"usr", "usr/lib", "usr/lib/jvm"} {
		b.Img.Directory(dir)
	}
	libraries(b, from)
	for _, name := range []string{"libpthread.so.0", "libdl.so.2", "librt.so.1"} {
		b.Put("lib/"+name, filepath.Join("/usr/aarch64-linux-gnu/lib", name))
	}
	tree(b, "usr/lib/jvm/java", home)
	javac(b, "classes", "Known")
	b.GoBuild("tests/java", root, "test", "-c", "./integration/oracle")
	only := os.Getenv(javaOnly)
	if only == "" {
		only = "^(int|c1|c2)$"
	}
	args := []string{"env", "ORACLE_JAVA_CLASSES=/classes", "ORACLE_JAVA_WARM=10s",
		"ORACLE_JAVA_SAMPLES=" + cmp.Or(os.Getenv(javaSamples), fewSamples)}
	args = append(args, "/tests/java", "-test.v", "-test.timeout="+javaLimit.String(),
		"-test.run=TestJavaStacksMatchTheSourceByName/./"+only)
	jobs := []machine.Job{{Name: "java", Limit: javaLimit, Dir: "/tests", Args: args}}
	c := emulated(from).Boot(b, jobs)
	c.CheckJob(t, jobs[0])
	for _, line := range c.Jobs["java"].Output {
		if counted.MatchString(line) {
			t.Log(strings.TrimSpace(line))
		}
	}
}

var counted = regexp.MustCompile(`\d+ samples, |--- `)

func tree(b *machine.Builder, name, from string) {
	b.T.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			b.Img.Directory(filepath.Join(name, rel))
			return nil
		}
		return b.Img.Copy(filepath.Join(name, rel), path)
	})
	if err != nil {
		b.T.Fatal(err)
	}
}

func javac(b *machine.Builder, name, class string) {
	b.T.Helper()
	source, err := testtargets.Source(class + ".java")
	if err != nil {
		b.T.Fatal(err)
	}
	dir := filepath.Join(b.Dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.T.Fatal(err)
	}
	file := filepath.Join(b.Dir, class+".java")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		b.T.Fatal(err)
	}
	b.Run("", nil, "javac", "--release", "8", "-Xlint:-options", "-d", dir, file)
	tree(b, name, dir)
}
