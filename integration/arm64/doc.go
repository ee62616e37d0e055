// SPDX-License-Identifier: Apache-2.0

// Package arm64 runs tests of prywalk in an emulated arm64 machine (qemu-system-aarch64), with an initrd of
// cross-compiled test binaries, prywalk and target programs, and judges the machine's console output.
//
// "make test-arm64" and "make test-all" run it; "make test" does not, as emulated instructions take some twenty times
// as long.
// scripts/arm64/fetch.sh gets the kernel, a static busybox and some libraries.
//
//   - Package machine is the machine itself, and has tests made for it.
//   - cores makes core files, which the test then walks on this machine; package recorded keeps some.
//   - The other jobs are tests of the product's packages, built for arm64.
package arm64
