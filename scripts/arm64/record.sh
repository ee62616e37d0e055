#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records the cases of integration/arm64/recorded anew, in the emulated machine (some minutes). What
# changes in them besides addresses is to be looked at before it is committed.
set -eu
cd "$(dirname "$0")/../.."
PRYWALK_ARM64=$(sh scripts/arm64/fetch.sh)
export PRYWALK_ARM64
ARM64_ONLY='^core-' ARM64_RECORD=$PWD/integration/arm64/recorded/testdata \
	"${GO:-go}" test -timeout 20m -count=1 -v -run TestProductInAnEmulatedMachine ./integration/arm64
