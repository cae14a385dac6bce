#!/usr/bin/env bash
# Runs killed at random moments and gone on with: kills.sh TEST_PROGRAM [COUNT]. Each is killed twice, then left alone; its bytes must
# be those of an undisturbed run.
set -euo pipefail
REHEARSE_KILLS=${2:-200} exec "$1" 'a run that is killed at any moment, and gone on with, leaves the bytes of an undisturbed one'
