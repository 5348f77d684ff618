#pragma once

#include "convert/family.hpp"

namespace ml {

extern const Family kK2HorizonFamily;  ///< K2-Horizon with mixtures of value experts (MoVA)

}  // namespace ml
