[ "$(ML_TARGET=scalar ml-sample --version)" = "$(ml-sample --version --target scalar)" ]
ML_TARGET=abacus ml-sample --show
