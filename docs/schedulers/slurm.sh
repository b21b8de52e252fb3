#!/bin/bash
#SBATCH --job-name=evaluation
#SBATCH --array=1-8
#SBATCH --output=slurm-%A-%a.log
# The parts of one run as a Slurm array, in a folder that all nodes share:
#   sbatch --wait slurm.sh tasks.toml && green-agent merge parts/*/* --into runs/whole
# If the job is submitted again, parts that were interrupted continue.
set -u
scenario=${1:?expected a scenario file}
parts=${SLURM_ARRAY_TASK_COUNT:?run this script with sbatch}
part=$SLURM_ARRAY_TASK_ID
folder=parts/$part
begun=$(ls -d "$folder"/*/ 2>/dev/null | head -n 1)
if [ -n "$begun" ]; then
    green-agent run --resume "$begun"
else
    green-agent run "$scenario" --shard "$part/$parts" --runs "$folder"
fi
# Exit code 1 means that trials failed, which the joined run reports; the job itself succeeded.
code=$?
[ "$code" -le 1 ]
